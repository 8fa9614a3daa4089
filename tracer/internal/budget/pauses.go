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
