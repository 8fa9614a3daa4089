package tracer

import (
	"strings"

	"ipytracer/event"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/budget"
	"ipytracer/tracer/internal/instruments"
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

// sayUnseen reports, of a process that ends or becomes another program, that cells ran in it before its probes were in,
// and none since.
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

// learn reads the state that exists only once the interpreter, or IPython in it, has started.
func (e *examiner) learn(t *tracee.Target) bool {
	p := t.Python
	p.Learning.Begin()
	interpreter, err := p.Live.Address()
	if err != nil {
		return false
	}
	news := !p.Ready
	p.Ready = true
	e.expectLibraries(t)
	if addr, n, err := p.Live.InputList(); err == nil {
		if p.Live.IsEmbedded() {
			addr, n = 0, 0
		}
		if news = news || p.Inputs != addr; p.Inputs == 0 && p.Stored == 0 {
			p.Stored = n
			if !t.Late { // In began with one empty entry, and all its present entries are from later
				p.Stored = 1
			}
		}
		p.Inputs, p.Count = addr, n
		p.Shown, _ = p.Live.LastException()
		p.IPython, _ = p.Live.IPythonVersion()
		p.Front = p.Live.Frontend()
		p.Terminal = p.Live.AtTerminal()
		p.IPython = strings.ToValidUTF8(p.IPython, "?")
		p.Notebook = tracee.NotebookOf(e.fs, t.PID, p.Live)
	}
	if !news {
		return false
	}
	if err := e.tellPython(t, interpreter); err != nil {
		e.log.Warn("the Python offsets could not be written", "pid", t.PID, "error", err)
		return false
	}
	if t.Announced { // the Start event describes an older state of the process
		e.queue.add(&event.Process{ProcessInfo: t.Info()})
	}
	return true
}

// tellPython gives the ledger the offsets by which to read the target's Python.
func (e *examiner) tellPython(t *tracee.Target, interpreter uint64) error {
	python := t.Offsets(interpreter, !e.options.NoStacks)
	switch {
	case e.options.NoStacks, e.options.PythonOnly:
	case e.options.Native:
		python.Native = ledger.NativeAll
	default:
		python.Native = ledger.NativeThreads
	}
	return e.ledger.SetPython(t.Slot, python)
}
