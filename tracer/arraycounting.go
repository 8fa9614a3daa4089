package tracer

import (
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/budget"
	"ipytracer/tracer/internal/tracee"
)

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
