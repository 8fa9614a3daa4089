package instruments

import (
	"fmt"
	"sync"
	"time"

	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/numpy"
	"ipytracer/tracer/internal/tracee"
)

// Close takes out the probes on the interpreter and, at the same time, those in NumPy.
func (i *NumPyInstrument) Close() {
	var closing sync.WaitGroup
	closing.Go(i.untrack)
	for _, m := range i.Modules {
		m.close()
		m.File.File.Close()
	}
	for _, e := range i.Expected {
		e.File.File.Close()
	}
	closing.Wait()
	i.Modules, i.Expected = nil, nil
}

// Place puts in the probes on the interpreter, unless those in NumPy serve alone. The attach waits for them.
func (i *NumPyInstrument) Place() error {
	if i.Target.Late {
		i.placeAhead(true)
		i.count()
	}
	if i.IsPaused(i.Target.Root, ledger.GroupNumPy) {
		return nil
	}
	if err := i.track(); err != nil {
		return err
	}
	if i.Tracked != nil || i.State != ledger.ArraysInside {
		noteInPython(i.Host, i.Target, ledger.GroupNumPy)
	}
	return nil
}

// Meet puts probes in NumPy's extension module when the target first maps it.
func (i *NumPyInstrument) Meet(l tracee.Listing, m process.Mapping) {
	if m.Perm&process.Exec == 0 || m.File.Inode == 0 || !numpy.IsModule(m.Path) || i.Target.Python == nil {
		return
	}
	if !i.Small && !i.Refused {
		i.meetModule(m)
	}
	if i.Small || i.Refused {
		i.uncounted.meet(i.Host, i.Target, max(l.Since, i.passed), m)
	}
}

func (i *NumPyInstrument) meetModule(m process.Mapping) {
	if i.expects(m.File) {
		i.placeAhead(true)
	}
	if known := i.module(m.File); known != nil {
		known.meet(m)
		return
	}
	if len(i.Modules) >= maxArrayModules {
		i.giveUp(fmt.Sprintf("more than %d files named like NumPy's module are mapped", maxArrayModules))
		return
	}
	file, err := i.OpenMapping(i.Target.PID, m)
	if err != nil {
		if !i.HasEnded(i.Target) {
			i.giveUp(fmt.Sprintf("%s could not be opened: %v", tracee.Clean(m.Path), err))
		}
		return
	}
	module := &ArrayModule{File: file}
	i.Modules = append(i.Modules, module)
	// While the group is paused, its probes wait for the resumption.
	if module.sites, err = i.Ahead.find(i.Target.PID, file); err == nil && !i.IsPaused(i.Target.Root,
		ledger.GroupNumPy) {
		err = i.placeModule(module)
	}
	if err == nil || i.HasEnded(i.Target) {
		return
	}
	i.giveUp(fmt.Sprintf("%s: %v", tracee.Clean(m.Path), reason(err)))
}

func (i *NumPyInstrument) Listed(tracee.Listing) {
	if i.Target.Python != nil {
		i.count()
		i.Leave()
	}
}

// Resume puts the probes back.
func (i *NumPyInstrument) Resume(g ledger.Group) error {
	if g != ledger.GroupNumPy {
		return nil
	}
	if err := i.track(); err != nil {
		return err
	}
	for _, m := range i.Modules {
		if i.Refused || m.Probes != nil {
			continue
		}
		if err := i.placeModule(m); err != nil {
			return err
		}
		if i.isSettling() {
			i.Settled = time.Now().Add(settling)
		}
	}
	return nil
}

// Settle goes back to the probes on the interpreter where blocks bypass those in NumPy. Else it goes on as these are
// placed.
func (i *NumPyInstrument) Settle() {
	i.Leave()
	i.expectKnown()
	i.placeAhead(false)
	i.count()
	i.Leave()
}

// Due returns when to look for finished analyses, or when the probes on the interpreter become unnecessary.
func (i *NumPyInstrument) Due() (at time.Time) {
	if i.isSettling() && i.Settled.After(time.Now()) {
		at = i.Settled
	}
	if len(i.Expected) > 0 {
		at = tracee.Sooner(at, time.Now().Add(tracee.BetweenLooks))
	}
	return at
}
