package running

import (
	"ipytracer/internal/code/native"
	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/tracee"
)

// RulesInstrument is the instrument for native stacks: it places no probes, and prepares large libraries for walks
// through them.
type RulesInstrument struct {
	tracee.Inert
	target  *tracee.Target
	natives *Natives
}

// NewRulesInstrument returns the instrument of a target.
func NewRulesInstrument(t *tracee.Target, all *Natives) *RulesInstrument {
	return &RulesInstrument{target: t, natives: all}
}

// Close releases nothing: other targets may use the same libraries.
func (i *RulesInstrument) Close() {}

// Meet prepares a large library when it is first mapped.
func (i *RulesInstrument) Meet(_ tracee.Listing, m process.Mapping) {
	if m.Perm&process.Exec != 0 && m.File.Inode != 0 && m.End-m.Start >= LargeCode {
		i.natives.Prepare(i.target, m)
	}
}

// Prepare starts to Prepare a library, beside the session.
func (all *Natives) Prepare(t *tracee.Target, m process.Mapping) {
	_, known := all.Modules[m.File]
	a := &all.Ahead
	if _, begun := a.Modules[m.File]; known || begun || len(a.Modules) >= MaxRulesAhead ||
		len(all.Modules) >= MaxModules {
		return
	}
	a.Begin()
	p := &PreparedModule{}
	a.Modules[m.File] = p
	if all.FS.Image(t.PID).IsDistant(m.File) {
		return
	}
	file, err := all.FS.Image(t.PID).OpenMapping(m)
	if err != nil {
		return // the first walk through it reports that
	}
	p.Done, p.Wanted = make(chan struct{}), make(chan struct{})
	find := all.DebugFiles(t)
	go func() {
		defer close(p.Done)
		defer func() { // not before: a file must not be closed while it is read
			if p.Module == nil {
				_ = file.File.Close()
				return
			}
			all.CloseLater(file.File)
		}()
		release, ok := a.Await(p)
		if !ok {
			return
		}
		defer release()
		isOver := a.Deadline()
		if isOver() {
			return
		}
		if module, err := native.Open(file.File, find, &all.Room); err == nil {
			a.Ready(module, isOver)
			p.Module = module
		}
		p.Opened = true
		isOver() // counts the last read
	}()
}
