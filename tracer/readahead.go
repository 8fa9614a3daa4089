package tracer

import (
	"fmt"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/numpy"
	"ipytracer/tracer/process"
)

// readAhead is NumPy's extension module in a file that a target would load, looked through before it does. That takes some tenths
// of a second, in which the probes on the interpreter would see every block, however small, and spend the budget on them.
type readAhead struct {
	done  chan struct{} // closed once the rest is there
	sites numpy.Sites
	err   error
}

// readFile is a file as it was when it was looked through. Nobody but the kernel sets the time of its last change.
type readFile struct {
	id      process.FileID
	size    int64
	changed unix.Timespec // st_ctim
}

// maxReadAhead is how many files a session looks through ahead of time.
const maxReadAhead = 16

// identify says which file, and which state of it, a descriptor is of.
func identify(file *process.MappedFile) (readFile, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.File.Fd()), &st); err != nil {
		return readFile{}, fmt.Errorf("stat: %w", err)
	}
	return readFile{file.Mapping.File, st.Size, st.Ctim}, nil
}

// expectArrays looks through the modules of NumPy that a target would load, beside what else goes on.
func (s *Session) expectArrays(t *target) {
	if s.options.SmallArrays {
		return
	}
	for _, name := range modulesOf(t.python) {
		file, err := s.fs.OpenFile(t.pid, name)
		if err != nil {
			continue
		}
		key, err := identify(file)
		if err != nil || s.ahead[key] != nil || len(s.ahead) >= maxReadAhead {
			file.File.Close()
			continue
		}
		if s.ahead == nil {
			s.ahead = map[readFile]*readAhead{}
		}
		a := &readAhead{done: make(chan struct{})}
		s.ahead[key] = a
		go a.read(file.File)
	}
}

func (a *readAhead) read(file *os.File) {
	defer close(a.done)
	defer file.Close()
	a.sites, a.err = numpy.Find(file)
}

// modulesOf lists the absolute names under which a Python would find NumPy's module: before NumPy 2.0 in core, since then in _core.
func modulesOf(p *python) (names []string) {
	v := p.binary.Version()
	for _, dir := range p.modules[:min(len(p.modules), maxExpected/2)] {
		if path.IsAbs(dir) {
			for _, core := range []string{"core", "_core"} {
				names = append(names, path.Join(dir, "numpy", core, fmt.Sprintf("_multiarray_umath.cpython-%d%d-x86_64-linux-gnu.so", v.Major, v.Minor)))
			}
		}
	}
	return names
}

// arraySites finds the places in a module of NumPy that a target has mapped.
func (s *Session) arraySites(file *process.MappedFile) (numpy.Sites, error) {
	if key, err := identify(file); err == nil && s.ahead[key] != nil {
		a := s.ahead[key]
		<-a.done
		return a.sites, a.err
	}
	return numpy.Find(file.File)
}

// nextSettled is when the next target's probes on the interpreter are of no use any more.
func (s *Session) nextSettled() (at time.Time, ok bool) {
	for _, t := range s.targets {
		if a := &t.arrays; !t.gone && a.isSettling() && a.settled.After(time.Now()) && (!ok || a.settled.Before(at)) {
			at, ok = a.settled, true
		}
	}
	return at, ok
}
