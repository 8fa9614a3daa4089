package budget

import (
	"context"
	"slices"
	"time"

	"ipytracer/internal/ledger"
	"ipytracer/internal/python/holders"
	"ipytracer/tracer/internal/tracee"
)

// Pauses are the groups of a root that are paused, in the order in which that happened.
type Pauses struct {
	Groups  []ledger.Group
	takeOut []ledger.Group // paused by the kernel, probes still in place
	returns map[ledger.Group]*comeback
	looks   *looks        // searches for arrays, while under way
	since   time.Time     // when NumPy's meter was paused
	rest    time.Duration // the least time for which it stays paused
}

func (r *Pauses) comeback(g ledger.Group) *comeback {
	if r.returns == nil {
		r.returns = map[ledger.Group]*comeback{}
	}
	if r.returns[g] == nil {
		r.returns[g] = &comeback{}
	}
	return r.returns[g]
}

// next returns the group of a root to resume first, among those with enough in the account: the one that by its nature
// is paused last. A group that rests does not delay the others.
func (r *Pauses) next(a ledger.Account, rests func(ledger.Group) bool) (first ledger.Group, ok bool) {
	for _, g := range slices.Backward(r.Groups) {
		r.comeback(g).sees(a)
		if !r.comeback(g).may(g, a) || rests(g) {
			continue
		}
		level, _ := g.Level()
		if best, _ := first.Level(); !ok || level < best {
			first, ok = g, true
		}
	}
	return first, ok
}

// rests reports whether a group stays down regardless of the account: NumPy's while its arrays are searched, and for a
// while after that.
func (r *Pauses) rests(g ledger.Group) bool {
	return g == ledger.GroupNumPy && (r.looks != nil || time.Since(r.since) < r.rest)
}

// look is a search for the arrays of one target.
type look struct {
	target *tracee.Target
	before bool // search for arrays from before the session, as the first pause begins
	found  holders.Owned
	err    error
	began  time.Time
	took   time.Duration
}

// looks are the searches of a root that are under way.
type looks struct {
	left   int
	done   chan look
	stop   context.CancelFunc
	unsure int64
	spoilt bool // the probes were paused again meanwhile
}

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
