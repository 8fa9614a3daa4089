package tracer

import (
	"fmt"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/host/process"
	"ipytracer/tracer/python/numpy"
)

// modulesAhead are NumPy's extension modules in files that targets would load, looked through before they do, each once
// for all of a session's targets.
type modulesAhead struct {
	files    map[readFile]*readAhead
	analyses *analyses // nil: nothing is kept for other sessions
}

// moduleAnalysis is how what is found out about NumPy's extension module is kept, also that nothing is found.
var moduleAnalysis = analysis[numpy.Sites]{
	subject: "numpy",
	find:    numpy.Find,
	places:  numpy.Sites.Offsets,
	refusal: numpy.Refusal,
}

// readAhead is NumPy's extension module in a file that a target would load, looked through before it does. That takes
// some hundredths of a second, in which an import makes thousands of arrays.
type readAhead struct {
	name  string        // in the target's own root
	done  chan struct{} // closed once the rest is there
	sites numpy.Sites
	err   error
}

// maxWaitAhead is how long an attach waits for a file that is looked through. It takes some hundredths of a second.
const maxWaitAhead = 5 * time.Second

var errWaitAhead = fmt.Errorf("it has been looked through for %v", maxWaitAhead)

// wait waits until the rest is there. It fails where that takes too long, or the file has not been understood.
func (a *readAhead) wait() error {
	limit := time.NewTimer(maxWaitAhead)
	defer limit.Stop()
	select {
	case <-a.done:
		return a.err
	case <-limit.C:
		return errWaitAhead
	}
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

// of is what was found in a file, or will be; nil if it is not looked through.
func (m *modulesAhead) of(file *process.MappedFile) *readAhead { return m.files[identify(file)] }

// begin begins to look through a file that a process would load, unless that was begun before.
func (m *modulesAhead) begin(pid int, file *process.MappedFile) {
	if m.of(file) != nil || len(m.files) >= maxReadAhead {
		return
	}
	own, err := file.Again()
	if err != nil {
		return
	}
	if m.files == nil {
		m.files = map[readFile]*readAhead{}
	}
	a := &readAhead{name: file.Mapping.Path, done: make(chan struct{})}
	m.files[identify(file)] = a
	as := *file // the other one's mapping is yet to be known
	go func() {
		defer close(a.done)
		defer own.Close()
		a.sites, a.err = moduleAnalysis.of(m.analyses, pid, &as, own)
	}()
}

// understood are those of a name that probes can be put in.
func (m *modulesAhead) understood(name string) (names []string) {
	for _, a := range m.files {
		if path.Base(a.name) == name && a.isDone() && a.err == nil {
			names = append(names, a.name)
		}
	}
	return names
}

// find finds the places in a module that a target has mapped.
func (m *modulesAhead) find(pid int, file *process.MappedFile) (numpy.Sites, error) {
	if a := m.of(file); a != nil {
		if err := a.wait(); err != nil {
			return numpy.Sites{}, err
		}
		return a.sites, nil
	}
	return moduleAnalysis.of(m.analyses, pid, file, file.File)
}

// expectedModule is a module that a target would load and that is being looked through.
type expectedModule struct {
	file  *process.MappedFile
	ahead *readAhead
}
