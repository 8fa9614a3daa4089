package tracer

import (
	"fmt"
	"path"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/host/process"
	"ipytracer/tracer/ledger"
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

// expect looks through the modules of NumPy that the target would load, beside what else goes on. It needs no kernel
// half.
func (i *numpyInstrument) expect(modules []string) {
	if i.small || i.refused {
		return
	}
	for _, name := range modulesOf(i.target.python, modules) {
		if file, err := i.openFile(i.target.pid, name); err == nil {
			i.foreseen = true
			i.expectModule(file, true)
		}
	}
}

// expectKnown expects, once, what other targets had on their sys.path: that of an interpreter which only starts is not
// there yet.
func (i *numpyInstrument) expectKnown() {
	if i.begun || i.target.late || i.small || i.refused {
		return
	}
	i.begun = true
	for _, name := range i.ahead.understood(moduleName(i.target.python)) {
		if file, err := i.openFile(i.target.pid, name); err == nil {
			i.expectModule(file, false)
		}
	}
}

// expectModule takes a file over. look: unless it has been looked through, it is from now on.
func (i *numpyInstrument) expectModule(file *process.MappedFile, look bool) {
	known := i.expects(file.Mapping.File) || i.module(file.Mapping.File) != nil
	if !known && len(i.modules)+len(i.expected) < ledger.MaxModules {
		if look {
			i.ahead.begin(i.target.pid, file)
		}
		if ahead := i.ahead.of(file); ahead != nil {
			i.expected = append(i.expected, expectedModule{file, ahead})
			return
		}
	}
	i.unsure = i.unsure || look && !known
	file.File.Close()
}

// moduleName is the name of NumPy's module for a Python.
func moduleName(p *python) string {
	v := p.binary.Version()
	return fmt.Sprintf("_multiarray_umath.cpython-%d%d-%s.so", v.Major, v.Minor, triplet)
}

// modulesOf lists the absolute names under which a Python would find NumPy's module, given its sys.path: before NumPy
// 2.0 in core, since then in _core.
func modulesOf(p *python, modules []string) (names []string) {
	for _, dir := range modules[:min(len(modules), maxExpected/2)] {
		if path.IsAbs(dir) {
			for _, core := range []string{"core", "_core"} {
				names = append(names, path.Join(dir, "numpy", core, moduleName(p)))
			}
		}
	}
	return names
}

// placeAhead puts probes in the expected modules that have been looked through. wait: in all of them.
func (i *numpyInstrument) placeAhead(wait bool) {
	before := len(i.modules)
	i.expected = slices.DeleteFunc(i.expected, func(e expectedModule) bool {
		if !wait && !e.ahead.isDone() {
			return false
		}
		module := &arrayModule{file: e.file}
		err := e.ahead.wait()
		if err == nil {
			module.sites = e.ahead.sites
		}
		if err == nil && !i.refused && !i.isShed(i.target.root, ledger.GroupNumPy) {
			err = i.placeModule(module)
		}
		if err != nil || i.refused {
			i.unsure = true
			e.file.File.Close()
			i.log.Debug("no probes in a NumPy that may be loaded", "pid", i.target.pid, "file", e.ahead.name,
				"error", err)
			return true
		}
		i.modules = append(i.modules, module)
		return true
	})
	if len(i.modules) > before && !i.refused {
		i.foreseeAgain()
	}
}

// foreseeAgain tells the kernel of modules that have come in when probes in others served already.
func (i *numpyInstrument) foreseeAgain() {
	switch i.state {
	case ledger.ArraysSettling: // what was foreign to the kernel must not be forgotten: once more from the beginning
		if _, _, err := i.counter.countBy(i.target, ledger.ArraysTracked); err == nil {
			i.state = ledger.ArraysTracked
		}
	case ledger.ArraysInside:
		if err := i.counter.foresee(i.target, i.files()); err != nil {
			i.log.Warn("the modules of NumPy could not be told", "pid", i.target.pid, "error", err)
		}
	}
}
