package tracer

import (
	"time"

	"ipytracer/tracer/ledger"
)

// comeback says when a group that was stepped down is tried again. Nobody can see whether its storm is over while its
// probes are out, so it is put back soon, and later each time that it turns out to have been too soon. As the kernel
// steps a group down that goes on as before as soon as it has spent a sixteenth of a full account, a try costs less
// than what was saved for it.
type comeback struct {
	least    time.Duration // the lowest credit since it was stepped down
	seen     bool          // some was
	relapses int           // how often it went on as before
	back     time.Time     // when it was put back last
}

const (
	// reserve is how much must have been saved since the lowest credit for a first try, as a part of a full account: 2
	// s of what accrues. It doubles with each relapse.
	reserve = 1. / 8
	// hysteresis is how much more credit than its level lets a group come back whatever has been, in such parts.
	hysteresis = 1.5 / 8
	// relapse is how soon after it was put back a group that is stepped down has gone on as before.
	relapse = 30 * time.Second
)

// left notes that the group was stepped down.
func (c *comeback) left(now time.Time) {
	c.seen = false
	if c.back.IsZero() || now.Sub(c.back) > relapse {
		c.relapses = 0
	} else {
		c.relapses++
	}
}

// returned notes that it was put back.
func (c *comeback) returned(now time.Time) { c.back = now }

// sees follows the account while the group is down.
func (c *comeback) sees(a ledger.Account) {
	if !c.seen || a.Credit < c.least {
		c.least, c.seen = a.Credit, true
	}
}

// may says whether the group is put back.
func (c *comeback) may(g ledger.Group, a ledger.Account) bool {
	level, _ := g.Level()
	saved := reserve
	for range min(c.relapses, 4) { // more than an account holds
		saved *= 2
	}
	full := float64(a.Full)
	return float64(a.Credit) >= min((level+hysteresis)*full, float64(c.least)+saved*full)
}
