package tracer

import (
	"io"
	"sync"

	"ipytracer/tracer/native"
	"ipytracer/tracer/process"
)

// rulesAhead are large libraries that targets have mapped, made ready to be walked through before anybody does. Their tables lie on a disk by
// then: a process maps a gigabyte, and touches little of it. A first walk through such a library would wait for the disk some twenty times a
// frame, and the stacks that come meanwhile have no frames.
type rulesAhead struct {
	modules map[process.FileID]*preparedModule
	one     sync.Mutex // held by the one that reads: nobody is in a hurry
}

// preparedModule is a library that is made ready.
type preparedModule struct {
	done   chan struct{} // closed once module is there
	module *native.Module
}

const (
	// largeCode is how many bytes of code a library has that is made ready. The largest of the others, such as OpenBLAS, take a few
	// milliseconds when they are walked through first.
	largeCode = 16 << 20
	// maxRulesAhead is how many libraries a session makes ready. PyTorch for CUDA has some 20 that are so large.
	maxRulesAhead = 32
)

// rulesInstrument is the instrument for native stacks: it places nothing, and makes large libraries ready to be walked through.
type rulesInstrument struct {
	inert
	target  *target
	natives *natives
}

// close has nothing to give back: others may walk through the same libraries.
func (i *rulesInstrument) close() {}

// meet makes a library ready that it meets first.
func (i *rulesInstrument) meet(_ listing, m process.Mapping) {
	if m.Perm&process.Exec != 0 && m.File.Inode != 0 && m.End-m.Start >= largeCode {
		i.natives.prepare(i.target, m)
	}
}

// prepare begins to make a library ready, beside what else goes on.
func (all *natives) prepare(t *target, m process.Mapping) {
	_, known := all.modules[m.File]
	a := &all.ahead
	if known || a.modules[m.File] != nil || len(a.modules) >= maxRulesAhead || len(all.modules) >= maxModules {
		return
	}
	file, err := all.fs.OpenMapping(t.pid, m)
	if err != nil {
		return // whoever walks through it finds out
	}
	all.closeLater(file.File)
	if a.modules == nil {
		a.modules = map[process.FileID]*preparedModule{}
	}
	p := &preparedModule{done: make(chan struct{})}
	a.modules[m.File] = p
	find := all.debugFiles(t)
	go func() {
		defer close(p.done)
		a.one.Lock()
		defer a.one.Unlock()
		if module, err := native.Open(file.File, find, &all.room); err == nil {
			module.Prepare()
			p.module = module
		}
	}()
}

// take returns a library that was made ready, nil where it is none; known is false where nobody has tried.
func (a *rulesAhead) take(id process.FileID) (module *native.Module, known bool) {
	p := a.modules[id]
	if p == nil {
		return nil, false
	}
	<-p.done
	return p.module, true
}

// wait waits until nothing is read any more.
func (a *rulesAhead) wait() {
	for _, p := range a.modules {
		<-p.done
	}
}

// debugFiles finds files with debug information as a target sees them.
func (all *natives) debugFiles(t *target) func(name string) (io.ReaderAt, error) {
	pid := t.pid
	return func(name string) (io.ReaderAt, error) {
		debug, err := all.fs.OpenFile(pid, name)
		if err != nil {
			return nil, err
		}
		all.closeLater(debug.File)
		return debug.File, nil
	}
}
