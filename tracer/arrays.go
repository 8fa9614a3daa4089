package tracer

import (
	"fmt"
	"sync"
	"time"

	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/numpy"
)

// close takes out the probes on the interpreter and, at the same time, those in NumPy.
func (i *numpyInstrument) close() {
	var closing sync.WaitGroup
	closing.Go(i.untrack)
	for _, m := range i.modules {
		m.close()
		m.file.File.Close()
	}
	for _, e := range i.expected {
		e.file.File.Close()
	}
	closing.Wait()
	i.modules, i.expected = nil, nil
}

// place puts in the probes on the interpreter, unless those in NumPy serve alone. The attach waits for them.
func (i *numpyInstrument) place() error {
	if i.target.late {
		i.placeAhead(true)
		i.count()
	}
	if i.isShed(i.target.root, ledger.GroupNumPy) {
		return nil
	}
	if err := i.track(); err != nil {
		return err
	}
	if i.tracked != nil || i.state != ledger.ArraysInside {
		noteInPython(i.host, i.target, ledger.GroupNumPy)
	}
	return nil
}

// meet puts probes in NumPy's extension module when the target first maps it.
func (i *numpyInstrument) meet(l listing, m process.Mapping) {
	if m.Perm&process.Exec == 0 || m.File.Inode == 0 || !numpy.IsModule(m.Path) || i.target.python == nil {
		return
	}
	if !i.small && !i.refused {
		i.meetModule(m)
	}
	if i.small || i.refused {
		i.untold.meet(i.host, i.target, max(l.since, i.passed), m)
	}
}

func (i *numpyInstrument) meetModule(m process.Mapping) {
	if i.expects(m.File) {
		i.placeAhead(true)
	}
	if known := i.module(m.File); known != nil {
		known.meet(m)
		return
	}
	if len(i.modules) >= maxArrayModules {
		i.giveUp(fmt.Sprintf("more than %d files named like NumPy's module are mapped", maxArrayModules))
		return
	}
	file, err := i.openMapping(i.target.pid, m)
	if err != nil {
		if !i.hasEnded(i.target) {
			i.giveUp(fmt.Sprintf("%s could not be opened: %v", clean(m.Path), err))
		}
		return
	}
	module := &arrayModule{file: file}
	i.modules = append(i.modules, module)
	// While the group is stepped down, its probes wait for the step up.
	if module.sites, err = i.ahead.find(i.target.pid, file); err == nil && !i.isShed(i.target.root, ledger.GroupNumPy) {
		err = i.placeModule(module)
	}
	if err == nil || i.hasEnded(i.target) {
		return
	}
	i.giveUp(fmt.Sprintf("%s: %v", clean(m.Path), reason(err)))
}

func (i *numpyInstrument) listed(listing) {
	if i.target.python != nil {
		i.count()
		i.leave()
	}
}

// stepUp puts the probes back.
func (i *numpyInstrument) stepUp(g ledger.Group) error {
	if g != ledger.GroupNumPy {
		return nil
	}
	if err := i.track(); err != nil {
		return err
	}
	for _, m := range i.modules {
		if i.refused || m.probes != nil {
			continue
		}
		if err := i.placeModule(m); err != nil {
			return err
		}
		if i.isSettling() {
			i.settled = time.Now().Add(settling)
		}
	}
	return nil
}

// settle goes back to the probes on the interpreter where blocks bypass those in NumPy. Else it goes on as these are
// placed.
func (i *numpyInstrument) settle() {
	i.leave()
	i.expectKnown()
	i.placeAhead(false)
	i.count()
	i.leave()
}

// due returns when to look for finished analyses, or when the probes on the interpreter become unnecessary.
func (i *numpyInstrument) due() (at time.Time) {
	if i.isSettling() && i.settled.After(time.Now()) {
		at = i.settled
	}
	if len(i.expected) > 0 {
		at = sooner(at, time.Now().Add(betweenLooks))
	}
	return at
}
