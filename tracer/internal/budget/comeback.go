package budget

import (
	"time"

	"ipytracer/internal/ledger"
)

// comeback decides when a group that was paused is tried again. While its probes are out, nothing shows whether
// its storm is over. So the group is put back soon, and later after each try that was too soon. If the storm goes on,
// the kernel pauses the group once it has spent a sixteenth of a full account, so a try costs less than was saved
// for it.
type comeback struct {
	least    time.Duration // the lowest credit since the group was paused
	seen     bool          // least is set
	relapses int           // how often the storm went on as before
	back     time.Time     // when the group was last put back
}

const (
	// reserve is how much must have been saved since the lowest credit for a first try, as a part of a full account:
	// the credit of 2 s. It doubles with each relapse.
	reserve = 1. / 8
	// hysteresis is the credit above its level, as such a part, that lets a group come back regardless of its relapses.
	hysteresis = 1.5 / 8
	// relapse is the time after its return within which a pause of the group means that the storm went on.
	relapse = 30 * time.Second
)

// left notes that the group was paused.
func (c *comeback) left(now time.Time) {
	c.seen = false
	if c.back.IsZero() || now.Sub(c.back) > relapse {
		c.relapses = 0
	} else {
		c.relapses++
	}
}

// returned notes that the group was put back.
func (c *comeback) returned(now time.Time) { c.back = now }

// sees follows the account while the group is down.
func (c *comeback) sees(a ledger.Account) {
	if !c.seen || a.Credit < c.least {
		c.least, c.seen = a.Credit, true
	}
}

// may reports whether the group is put back.
func (c *comeback) may(g ledger.Group, a ledger.Account) bool {
	level, _ := g.Level()
	saved := reserve
	for range min(c.relapses, 4) { // more than an account holds
		saved *= 2
	}
	full := float64(a.Full)
	return float64(a.Credit) >= min((level+hysteresis)*full, float64(c.least)+saved*full)
}
