package tracer

import (
	"ipytracer/internal/code/native"
	"ipytracer/internal/host/process"
)

// rulesInstrument is the instrument for native stacks: it places no probes, and prepares large libraries for walks
// through them.
type rulesInstrument struct {
	inert
	target  *target
	natives *natives
}

// close releases nothing: other targets may use the same libraries.
func (i *rulesInstrument) close() {}

// meet prepares a large library when it is first mapped.
func (i *rulesInstrument) meet(_ listing, m process.Mapping) {
	if m.Perm&process.Exec != 0 && m.File.Inode != 0 && m.End-m.Start >= largeCode {
		i.natives.prepare(i.target, m)
	}
}

// prepare starts to prepare a library, beside the session.
func (all *natives) prepare(t *target, m process.Mapping) {
	_, known := all.modules[m.File]
	a := &all.ahead
	if _, begun := a.modules[m.File]; known || begun || len(a.modules) >= maxRulesAhead ||
		len(all.modules) >= maxModules {
		return
	}
	a.begin()
	p := &preparedModule{}
	a.modules[m.File] = p
	if all.fs.Image(t.pid).IsDistant(m.File) {
		return
	}
	file, err := all.fs.Image(t.pid).OpenMapping(m)
	if err != nil {
		return // the first walk through it reports that
	}
	p.done, p.wanted = make(chan struct{}), make(chan struct{})
	find := all.debugFiles(t)
	go func() {
		defer close(p.done)
		defer func() { // not before: a file must not be closed while it is read
			if p.module == nil {
				_ = file.File.Close()
				return
			}
			all.closeLater(file.File)
		}()
		release, ok := a.await(p)
		if !ok {
			return
		}
		defer release()
		isOver := a.deadline()
		if isOver() {
			return
		}
		if module, err := native.Open(file.File, find, &all.room); err == nil {
			a.ready(module, isOver)
			p.module = module
		}
		p.opened = true
		isOver() // counts the last read
	}()
}
