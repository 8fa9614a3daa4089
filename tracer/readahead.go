package tracer

import (
	"fmt"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/ledger"
	"ipytracer/tracer/numpy"
	"ipytracer/tracer/process"
)

// readAhead is NumPy's extension module in a file that a target would load, looked through before it does. That takes some
// hundredths of a second, in which an import makes thousands of arrays.
type readAhead struct {
	name  string        // in the target's own root
	done  chan struct{} // closed once the rest is there
	sites numpy.Sites
	err   error
}

func (a *readAhead) isDone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// readFile is a file as it was when it was looked through. Nobody but the kernel sets the time of its last change.
type readFile struct {
	id      process.FileID
	size    int64
	changed unix.Timespec // st_ctim
}

// maxReadAhead is how many files a session looks through ahead of time.
const maxReadAhead = 16

// identify says which file, and which state of it, was opened.
func identify(file *process.MappedFile) readFile {
	return readFile{file.Mapping.File, file.Stat.Size, file.Stat.Ctim}
}

// expectedModule is a module that a target would load and that is being looked through.
type expectedModule struct {
	file  *process.MappedFile
	ahead *readAhead
}

// expectArrays looks through the modules of NumPy that a target would load, beside what else goes on.
func (s *Session) expectArrays(t *target) {
	if s.options.SmallArrays || t.arrays.refused {
		return
	}
	for _, name := range modulesOf(t.python) {
		file, err := s.fs.OpenFile(t.pid, name)
		if err != nil {
			s.noteSilence(err)
			continue
		}
		t.arrays.foreseen = true
		s.expectModule(t, file, true)
	}
}

// beginAhead does so while the kernel half is being loaded.
func (s *Session) beginAhead(t *target) {
	t.python.modules, _ = t.python.live.Path()
	s.expectArrays(t)
}

// expectKnown expects what other targets had on their sys.path: that of an interpreter which only starts is not there yet.
func (s *Session) expectKnown(t *target) {
	version := moduleName(t.python)
	for _, a := range s.ahead {
		if path.Base(a.name) != version || !a.isDone() || a.err != nil || t.arrays.refused {
			continue
		}
		if file, err := s.fs.OpenFile(t.pid, a.name); err == nil {
			s.expectModule(t, file, false)
		}
	}
}

// expectModule takes a file over. look: unless it has been looked through, it is from now on.
func (s *Session) expectModule(t *target, file *process.MappedFile, look bool) {
	a := &t.arrays
	key := identify(file)
	known := a.expects(file.Mapping.File) || a.module(file.Mapping.File) != nil
	if !known && len(a.modules)+len(a.expected) < ledger.MaxModules {
		if look && s.ahead[key] == nil {
			s.lookAhead(key, file)
		}
		if ahead := s.ahead[key]; ahead != nil {
			a.expected = append(a.expected, expectedModule{file, ahead})
			return
		}
	}
	a.unsure = a.unsure || look && !known
	file.File.Close()
}

// lookAhead begins to look through a file.
func (s *Session) lookAhead(key readFile, file *process.MappedFile) {
	if len(s.ahead) >= maxReadAhead {
		return
	}
	own, err := file.Again()
	if err != nil {
		return
	}
	if s.ahead == nil {
		s.ahead = map[readFile]*readAhead{}
	}
	a := &readAhead{name: file.Mapping.Path, done: make(chan struct{})}
	s.ahead[key] = a
	go a.read(own)
}

func (a *readAhead) read(file process.File) {
	defer close(a.done)
	defer file.Close()
	a.sites, a.err = numpy.Find(file)
}

// moduleName is the name of NumPy's module for a Python.
func moduleName(p *python) string {
	v := p.binary.Version()
	return fmt.Sprintf("_multiarray_umath.cpython-%d%d-x86_64-linux-gnu.so", v.Major, v.Minor)
}

// modulesOf lists the absolute names under which a Python would find NumPy's module: before NumPy 2.0 in core, since then in _core.
func modulesOf(p *python) (names []string) {
	for _, dir := range p.modules[:min(len(p.modules), maxExpected/2)] {
		if path.IsAbs(dir) {
			for _, core := range []string{"core", "_core"} {
				names = append(names, path.Join(dir, "numpy", core, moduleName(p)))
			}
		}
	}
	return names
}

// placeAhead puts probes in the expected modules that have been looked through. wait: in all of them.
func (s *Session) placeAhead(t *target, wait bool) {
	a := &t.arrays
	before := len(a.modules)
	a.expected = slices.DeleteFunc(a.expected, func(e expectedModule) bool {
		if !wait && !e.ahead.isDone() {
			return false
		}
		<-e.ahead.done
		module := &arrayModule{file: e.file, sites: e.ahead.sites}
		err := e.ahead.err
		if err == nil && !a.refused && !s.budget.isShed(t.root, ledger.GroupNumPy) {
			err = s.placeModule(t, module)
		}
		if err != nil || a.refused {
			a.unsure = true
			e.file.File.Close()
			s.log.Debug("no probes in a NumPy that may be loaded", "pid", t.pid, "file", e.ahead.name, "error", err)
			return true
		}
		a.modules = append(a.modules, module)
		return true
	})
	if len(a.modules) > before && !a.refused {
		s.foreseeAgain(t)
	}
}

// foreseeAgain tells the kernel of modules that have come in when probes in others served already.
func (s *Session) foreseeAgain(t *target) {
	switch a := &t.arrays; a.state {
	case ledger.ArraysSettling: // what was foreign to the kernel must not be forgotten: once more from the beginning
		if _, _, err := s.ledger.CountArrays(t.pid, ledger.ArraysTracked); err == nil {
			a.state = ledger.ArraysTracked
		}
	case ledger.ArraysInside:
		if err := s.ledger.ForeseeModules(t.slot, a.files()); err != nil {
			s.log.Warn("the modules of NumPy could not be told", "pid", t.pid, "error", err)
		}
	}
}

// arraySites finds the places in a module of NumPy that a target has mapped.
func (s *Session) arraySites(file *process.MappedFile) (numpy.Sites, error) {
	if a := s.ahead[identify(file)]; a != nil {
		<-a.done
		return a.sites, a.err
	}
	return numpy.Find(file.File)
}
