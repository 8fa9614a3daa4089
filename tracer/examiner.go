package tracer

import (
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
