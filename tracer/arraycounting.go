package tracer

import "ipytracer/internal/ledger"

// arrayCounting combines the kernel's counting of arrays and the searches for arrays that it could not count.
type arrayCounting struct {
	ledger   *kernelHalf
	searches *searches
	budget   *budget
	targets  *targets
}

func (c *arrayCounting) foresee(t *target, files []ledger.File) error {
	return c.ledger.ForeseeModules(t.slot, files)
}

func (c *arrayCounting) countBy(t *target, by ledger.Arrays) (ledger.Arrays, ledger.Foreign, error) {
	return c.ledger.CountArrays(t.pid, by)
}

func (c *arrayCounting) lookAgain(t *target) {
	c.searches.begin(c.targets.all, t.root, c.budget.root(t.root), false)
}
