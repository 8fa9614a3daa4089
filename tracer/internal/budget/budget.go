// Package budget keeps the cost of probes within a share of the time. It prices hits, and pauses groups of probes that
// cost too much. After a pause of the probes on NumPy, [Searches] look for the arrays that were allocated or freed
// meanwhile.
package budget

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"ipytracer/internal/ledger"
	"ipytracer/internal/python/holders"
	"ipytracer/tracer/internal/tracee"
)

// Budget keeps the cost of the probes below a share of the time. The kernel half keeps an account for each root. It
// pauses groups of probes when the account runs dry (bpf/budget.h). The budget sets the price of a hit, takes probes
// out, and resumes groups when the account has filled.
type Budget struct {
	ledger   tracee.Accounts
	log      *slog.Logger
	report   *tracee.Certificate
	Searches Searches // for arrays that were allocated or freed without a probe
	Prices   Prices
	Roots    map[uint32]*Pauses
}

// fullTime is how long an account takes to fill: with a share of 3 % it holds half a second of probe time.
const fullTime = 50 * time.Second / 3

// New returns a budget that has not begun.
func New(kernel *tracee.KernelHalf, log *slog.Logger, report *tracee.Certificate) *Budget {
	return &Budget{
		ledger: kernel, log: log, report: report, Roots: map[uint32]*Pauses{},
		Searches: Searches{kernel: kernel, log: log, report: report},
		Prices:   Prices{Ledger: kernel, Log: log, Costs: ledger.UsualCosts},
	}
}

// Begin opens the accounts that roots get from then on, with a share of the time; a negative share means no limit.
func (b *Budget) Begin(share float64) error {
	if share >= 0 {
		if err := b.ledger.SetBudget(share, time.Duration(share*float64(fullTime))); err != nil {
			return err
		}
	}
	return b.Prices.begin(share < 0)
}

func (b *Budget) Root(root uint32) *Pauses {
	r := b.Roots[root]
	if r == nil {
		r = &Pauses{}
		b.Roots[root] = r
	}
	return r
}

func (b *Budget) IsPaused(root uint32, g ledger.Group) bool {
	return b.Roots[root] != nil && slices.Contains(b.Roots[root].Groups, g)
}

// AnyPaused reports whether any group of any root is paused.
func (b *Budget) AnyPaused() bool {
	for _, r := range b.Roots {
		if len(r.Groups) > 0 {
			return true
		}
	}
	return false
}

// Pause notes that the kernel has paused a group of a root.
func (b *Budget) Pause(root uint32, g ledger.Group) {
	if _, ok := g.Level(); !ok || b.IsPaused(root, g) {
		return
	}
	r := b.Root(root)
	r.Groups, r.takeOut = append(r.Groups, g), append(r.takeOut, g)
	r.comeback(g).left(time.Now())
	if g == ledger.GroupNumPy {
		r.since = time.Now()
		if r.looks != nil {
			r.looks.spoilt = true
		}
	}
}

// TakeOut takes out the probes of groups that the kernel has paused.
func (b *Budget) TakeOut(targets []*tracee.Target) {
	for root, r := range b.Roots {
		for _, g := range r.takeOut {
			for _, t := range targets {
				if t.Python == nil || t.Root != root {
					continue
				}
				for _, i := range t.Instruments {
					i.Pause(g)
				}
			}
			b.log.Info("stepped down to keep the overhead budget", "probes", g, "root", root)
		}
		if slices.Contains(r.takeOut, ledger.GroupNumPy) {
			b.Searches.Begin(targets, root, r, true)
		}
		r.takeOut = nil
	}
}

// Resume resumes one group of each root with a filled account.
func (b *Budget) Resume(targets []*tracee.Target) {
	for root, r := range b.Roots {
		if len(r.Groups) == 0 {
			continue
		}
		account, err := b.ledger.Account(root)
		if err != nil {
			b.report.Problem("the account of the overhead budget: %v", err)
			continue
		}
		if g, ok := r.next(account, r.rests); ok {
			b.putBack(targets, root, r, g)
		}
	}
}

// putBack resumes a group of a root: first its probes, which do nothing yet, then the boundary at which they begin to
// count.
func (b *Budget) putBack(targets []*tracee.Target, root uint32, r *Pauses, g ledger.Group) {
	alive := -1
	for _, t := range targets {
		if t.Root != root || t.Gone {
			continue
		}
		alive = t.PID
		if t.Python == nil {
			continue
		}
		if err := t.Resume(g); err != nil {
			b.log.Warn("the probes could not be put back", "probes", g, "error", err)
			return // another time
		}
	}
	if alive < 0 || b.ledger.Back(g, alive) != nil {
		return // it has ended meanwhile
	}
	r.Groups = slices.DeleteFunc(r.Groups, func(x ledger.Group) bool { return x == g })
	r.comeback(g).returned(time.Now())
	b.log.Info("stepped up again", "probes", g, "root", root)
	if g == ledger.GroupNumPy {
		b.Searches.Begin(targets, root, r, false)
	}
}

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

// next returns the group of a root to resume first. Of the groups for which the account has enough, it is the one that
// the kernel half pauses last. A group that rests does not delay the others.
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

// rests reports whether a group stays paused whatever the account has. NumPy's group does while its arrays are
// searched, and for a while after that.
func (r *Pauses) rests(g ledger.Group) bool {
	return g == ledger.GroupNumPy && (r.looks != nil || time.Since(r.since) < r.rest)
}

// look is a search for the arrays of one target.
type look struct {
	target *tracee.Target
	before bool // the look searches for arrays from before the session, as the first pause begins
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

// comeback decides when a group that was paused is tried again. While its probes are out, nothing shows whether its
// storm is over. So the group is put back soon, and later after each try that was too soon. If the storm goes on, the
// kernel half pauses the group once it has spent a sixteenth of a full account. So a try costs less than was saved for
// it.
type comeback struct {
	least    time.Duration // the lowest credit since the group was paused
	seen     bool          // least is set
	relapses int           // how often the storm went on as before
	back     time.Time     // when the group was last put back
}

const (
	// reserve is how much must have been saved since the lowest credit before a first try, as a part of a full account:
	// the credit of 2 s. It doubles with each relapse.
	reserve = 1. / 8
	// hysteresis is how far above a group's level the credit must be for the group to come back whatever its relapses,
	// as a part of a full account.
	hysteresis = 1.5 / 8
	// relapse is a time after a group's return. If the group is paused again within it, the storm went on.
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
