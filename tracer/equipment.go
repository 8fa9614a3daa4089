package tracer

import (
	"slices"
	"time"
)

// equip gives a target its instruments, which it keeps until it is released.
func (e *examiner) equip(t *target) {
	if t.instruments != nil {
		return
	}
	h, found := &e.host, e.analyses
	t.numpy = &numpyInstrument{
		host: h, target: t, counter: e.counter, ahead: e.ahead, log: e.log, small: e.options.SmallArrays,
	}
	t.instruments = append(t.instruments, t.numpy, &windowInstrument{host: h, target: t})
	if !e.options.NoStacks {
		t.instruments = append(t.instruments, &mappedInstrument{host: h, target: t, analyses: found})
		if !e.options.PythonOnly {
			t.instruments = append(t.instruments, &rulesInstrument{target: t, natives: e.natives})
		}
	}
	t.instruments = append(t.instruments,
		&libraryInstrument{host: h, target: t, analyses: found}, &arrowInstrument{host: h, target: t, analyses: found})
	if e.options.Heap {
		t.instruments = append(t.instruments, &heapInstrument{host: h, target: t, analyses: found})
	}
}

// settleInstruments lets a target's instruments do their pending work.
func (e *examiner) settleInstruments(t *target) {
	e.equip(t)
	for _, i := range t.instruments {
		i.settle()
	}
}

// relist shows a target's mappings to its instruments.
func (e *examiner) relist(t *target) {
	e.equip(t)
	l := listing{first: !t.announced, since: t.listed}
	t.unlisted, t.listed = false, now()
	took, last := time.Duration(0), time.Now()
	defer func() { t.rested.after(took) }()
	for m, err := range e.fs.Image(t.pid).Mappings() {
		took += time.Since(last)
		if err != nil {
			return // it has ended
		}
		for _, i := range t.instruments {
			i.meet(l, m)
		}
		last = time.Now()
	}
	for _, i := range t.instruments {
		i.listed(l)
	}
}

// listLast notes the libraries that a target has loaded so late that they have no probes: the session is over.
func (e *examiner) listLast(t *target) {
	l := listing{since: t.listed, last: true}
	for m, err := range e.fs.Image(t.pid).Mappings() {
		if err != nil {
			return
		}
		for _, i := range t.instruments {
			switch i.(type) {
			case *libraryInstrument, *arrowInstrument:
				i.meet(l, m)
			}
		}
	}
}

// expectLibraries lets the target's instruments expect the libraries that it may yet load. It does nothing while
// sys.path is unchanged: a starting interpreter has none yet.
func (e *examiner) expectLibraries(t *target) {
	modules, _ := t.python.live.Path()
	if t.python.expected && slices.Equal(modules, t.python.modules) {
		return
	}
	t.python.expected, t.python.modules = true, modules
	e.equip(t)
	for _, i := range t.instruments {
		i.expect(modules)
	}
}

// readAhead starts the analysis of files that a target may load, while the kernel half is being loaded.
func (e *examiner) readAhead(t *target) {
	t.python.modules, _ = t.python.live.Path()
	e.equip(t)
	t.numpy.expect(t.python.modules)
}
