package tracer

import (
	"slices"
	"time"

	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/budget"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/running"
	"ipytracer/tracer/internal/tracee"
)

// examiner identifies targets, reads the state of their Pythons, and gives them their instruments.
type examiner struct {
	*trace
	host       instruments.Host // of the instruments
	counter    instruments.ArrayCounter
	limits     *limits
	overlooked overlooked
}

// sayUnseen reports the cells of a Python that ran before its probes were in. It is called when the process ends or
// executes another program, and reports nothing if a cell was seen since.
func (e *examiner) sayUnseen(t *tracee.Target) {
	if t.Python == nil || t.Python.Unseen == 0 {
		return
	}
	e.certificate.MissesPython(t.PID,
		"pid %d: its cells up to In[%d] ran before its probes were in place, and none since: they are not seen",
		t.PID, t.Python.Unseen)
	t.Python.Unseen = 0
}

// arrayCounting combines the kernel's counting of arrays and the searches for arrays that it could not count.
type arrayCounting struct {
	ledger  *tracee.KernelHalf
	budget  *budget.Budget
	targets *tracee.List
}

func (c *arrayCounting) Foresee(t *tracee.Target, files []ledger.File) error {
	return c.ledger.ForeseeModules(t.Slot, files)
}

func (c *arrayCounting) CountBy(t *tracee.Target, by ledger.Arrays) (ledger.Arrays, ledger.Foreign, error) {
	return c.ledger.CountArrays(t.PID, by)
}

func (c *arrayCounting) LookAgain(t *tracee.Target) {
	c.budget.Searches.Begin(c.targets.All, t.Root, c.budget.Root(t.Root), false)
}

// equip gives a target its instruments, which it keeps until it is released.
func (e *examiner) equip(t *tracee.Target) {
	if t.Instruments != nil {
		return
	}
	h, found := &e.host, &e.probes.Analyses
	t.NumPy = &instruments.NumPyInstrument{
		Host: h, Target: t, Counter: e.counter, Ahead: &e.probes.Ahead, Log: e.log, Small: e.options.SmallArrays,
	}
	t.Instruments = append(t.Instruments, t.NumPy, &instruments.WindowInstrument{Host: h, Target: t})
	if !e.options.NoStacks {
		t.Instruments = append(t.Instruments, &instruments.MappedInstrument{Host: h, Target: t, Analyses: found})
		if !e.options.PythonOnly {
			t.Instruments = append(t.Instruments, running.NewRulesInstrument(t, &e.code.Natives))
		}
	}
	libraries := &instruments.LibraryInstrument{Host: h, Target: t, Analyses: found}
	t.Tensors = libraries
	t.Instruments = append(t.Instruments, libraries,
		&instruments.ArrowInstrument{Host: h, Target: t, Analyses: found})
	if e.options.Heap {
		t.Instruments = append(t.Instruments, &instruments.HeapInstrument{Host: h, Target: t, Analyses: found})
	}
}

// settleInstruments lets a target's instruments do their pending work.
func (e *examiner) settleInstruments(t *tracee.Target) {
	e.equip(t)
	for _, i := range t.Instruments {
		i.Settle()
	}
}

// relist shows a target's mappings to its instruments.
func (e *examiner) relist(t *tracee.Target) {
	e.equip(t)
	l := tracee.Listing{First: !t.Announced, Since: t.Mappings.Read}
	t.Mappings.Stale, t.Mappings.Read = false, tracee.Now()
	took, last := time.Duration(0), time.Now()
	defer func() { t.Mappings.Rest.After(took) }()
	for m, err := range e.fs.Image(t.PID).Mappings() {
		took += time.Since(last)
		if err != nil {
			return // it has ended
		}
		for _, i := range t.Instruments {
			i.Meet(l, m)
		}
		last = time.Now()
	}
	for _, i := range t.Instruments {
		i.Listed(l)
	}
}

// listLast records, at the end of the session, the libraries that a target has loaded since the last listing: they have
// no probes.
func (e *examiner) listLast(t *tracee.Target) {
	l := tracee.Listing{Since: t.Mappings.Read, Last: true}
	for m, err := range e.fs.Image(t.PID).Mappings() {
		if err != nil {
			return
		}
		for _, i := range t.Instruments {
			switch i.(type) {
			case *instruments.LibraryInstrument, *instruments.ArrowInstrument:
				i.Meet(l, m)
			}
		}
	}
}

// expectLibraries tells the target's instruments the folders from which it may still load libraries, unless its
// sys.path is unchanged since the last call. A starting interpreter has no sys.path yet.
func (e *examiner) expectLibraries(t *tracee.Target) {
	modules, _ := t.Python.Live.Path()
	if t.Python.Expected && slices.Equal(modules, t.Python.Modules) {
		return
	}
	t.Python.Expected, t.Python.Modules = true, modules
	e.equip(t)
	for _, i := range t.Instruments {
		i.Expect(modules)
	}
}

// readAhead starts the analysis of files that a target may load, while the kernel half is being loaded.
func (e *examiner) readAhead(t *tracee.Target) {
	t.Python.Modules, _ = t.Python.Live.Path()
	e.equip(t)
	t.NumPy.Expect(t.Python.Modules)
}
