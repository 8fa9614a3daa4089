package instruments

import (
	"fmt"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
	"ipytracer/internal/python/numpy"
	"ipytracer/tracer/internal/running"
)

// ModulesAhead are the files with NumPy's extension module that targets would load. Each is analysed before that, once
// for all of a session's targets.
type ModulesAhead struct {
	files    map[readFile]*ReadAhead
	Analyses *Analyses // nil: nothing is kept for other sessions
}

// ModuleAnalysis caches the analysis of NumPy's extension module, also a failed one.
var ModuleAnalysis = Analysis[numpy.Sites]{
	Subject: "numpy",
	Find:    numpy.Find,
	Places:  numpy.Sites.Offsets,
	Refusal: numpy.Refusal,
}

// ReadAhead is the analysis of NumPy's extension module, made before a target loads the file. The analysis takes some
// hundredths of a second, in which an import makes thousands of arrays.
type ReadAhead struct {
	name  string        // path in the target's own root
	Done  chan struct{} // closed once sites and err are set
	sites numpy.Sites
	Err   error
}

// maxWaitAhead is how long an attach waits for the analysis of a file. It takes some hundredths of a second.
const maxWaitAhead = 5 * time.Second

var errWaitAhead = fmt.Errorf("it has been looked through for %v", maxWaitAhead)

// wait waits for the analysis. It fails if that takes too long, or the analysis has failed.
func (a *ReadAhead) wait() error {
	if !running.IsClosed(a.Done, maxWaitAhead) {
		return errWaitAhead
	}
	return a.Err
}

func (a *ReadAhead) isDone() bool { return running.IsClosed(a.Done, 0) }

// readFile is a file in the state in which it was analysed. Only the kernel sets the time of its last change.
type readFile struct {
	id      process.FileID
	size    int64
	changed unix.Timespec // st_ctim
}

// maxReadAhead is the maximum of files that a session analyses ahead of time.
const maxReadAhead = 16

// identify returns the identity and the state of an opened file.
func identify(file *process.MappedFile) readFile {
	return readFile{file.Mapping.File, file.Stat.Size, file.Stat.Ctim}
}

// of returns the analysis of a file, finished or not; nil if there is none.
func (m *ModulesAhead) of(file *process.MappedFile) *ReadAhead { return m.files[identify(file)] }

// begin starts to analyse a file that a process would load, unless that was started before.
func (m *ModulesAhead) begin(pid int, file *process.MappedFile) {
	if m.of(file) != nil || len(m.files) >= maxReadAhead {
		return
	}
	own, err := file.Again()
	if err != nil {
		return
	}
	if m.files == nil {
		m.files = map[readFile]*ReadAhead{}
	}
	a := &ReadAhead{name: file.Mapping.Path, Done: make(chan struct{})}
	m.files[identify(file)] = a
	copied := *file // the caller's mapping is yet to be set
	go func() {
		defer close(a.Done)
		defer own.Close()
		a.sites, a.Err = ModuleAnalysis.Of(m.Analyses, pid, &copied, own)
	}()
}

// understood returns the files of a name in which probes can be placed.
func (m *ModulesAhead) understood(name string) (names []string) {
	for _, a := range m.files {
		if path.Base(a.name) == name && a.isDone() && a.Err == nil {
			names = append(names, a.name)
		}
	}
	return names
}

// find returns the places in a module that a target has mapped.
func (m *ModulesAhead) find(pid int, file *process.MappedFile) (numpy.Sites, error) {
	if a := m.of(file); a != nil {
		if err := a.wait(); err != nil {
			return numpy.Sites{}, err
		}
		return a.sites, nil
	}
	return ModuleAnalysis.Of(m.Analyses, pid, file, file.File)
}

// ExpectedModule is a module that a target would load and that is being analysed.
type ExpectedModule struct {
	File  *process.MappedFile
	Ahead *ReadAhead
}
