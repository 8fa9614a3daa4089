package tracer

import (
	"ipytracer/tracer/code/native"
	"ipytracer/tracer/host/process"
)

// rulesInstrument is the instrument for native stacks: it places nothing, and makes large libraries ready to be walked
// through.
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
		return // whoever walks through it finds out
	}
	p.done, p.wanted = make(chan struct{}), make(chan struct{})
	find := all.debugFiles(t)
	go func() {
		defer close(p.done)
		defer func() { // not before: nobody closes what is being read
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
