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

// Pause records that the kernel half has paused a group of a root.
func (b *Budget) Pause(root uint32, g ledger.Group) {
	if _, ok := g.Level(); !ok || b.IsPaused(root, g) {
		return
	}
	r := b.Root(root)
	r.Groups, r.takeOut = append(r.Groups, g), append(r.takeOut, g)
	r.comeback(g).paused(time.Now())
	if g == ledger.GroupNumPy {
		r.since = time.Now()
		if r.searches != nil {
			r.searches.invalid = true
		}
	}
}

// TakeOut removes the probes of the groups that the kernel half has paused.
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
		if g, ok := r.next(account, r.mustStay); ok {
			b.putBack(targets, root, r, g)
		}
	}
}

// putBack resumes a group of a root: first its probes, which do nothing yet, then the boundary at which they begin to
// count.
func (b *Budget) putBack(targets []*tracee.Target, root uint32, r *Pauses, g ledger.Group) {
	alive := -1 // the pid of a live target of the root
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
			return // the next call tries again
		}
	}
	if alive < 0 || b.ledger.Back(g, alive) != nil {
		return // the target has ended meanwhile
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
	Groups     []ledger.Group
	takeOut    []ledger.Group // paused by the kernel, probes still in place
	returns    map[ledger.Group]*comeback
	searches   *arraySearches // searches for arrays, while under way
	since      time.Time      // when NumPy's meter was paused
	leastPause time.Duration  // the least time for which it stays paused
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

// next returns the group of a root to resume: of the groups that are ready, the one that the kernel half pauses last.
func (r *Pauses) next(a ledger.Account, rests func(ledger.Group) bool) (first ledger.Group, ok bool) {
	for _, g := range slices.Backward(r.Groups) {
		r.comeback(g).follow(a)
		if !r.comeback(g).isReady(g, a) || rests(g) {
			continue
		}
		level, _ := g.Level()
		if best, _ := first.Level(); !ok || level < best {
			first, ok = g, true
		}
	}
	return first, ok
}

// mustStay reports whether a group stays paused whatever the account has. NumPy's group does while its arrays are
// searched, and for a while after that.
func (r *Pauses) mustStay(g ledger.Group) bool {
	return g == ledger.GroupNumPy && (r.searches != nil || time.Since(r.since) < r.leastPause)
}

// arraySearch is a search for the arrays of one target.
type arraySearch struct {
	target *tracee.Target
	before bool // the look searches for arrays from before the session, as the first pause begins
	found  holders.Owned
	err    error
	began  time.Time
	took   time.Duration
}

// arraySearches are the searches of a root that are under way.
type arraySearches struct {
	left    int
	done    chan arraySearch
	stop    context.CancelFunc
	unsure  int64
	invalid bool // the probes were paused again meanwhile
}

// comeback decides when a paused group is tried again. While its probes are out, nothing shows whether its storm of
// hits is over. So the group is resumed soon, and after each failed try later. If the storm goes on, the kernel half
// pauses the group again when it has spent a sixteenth of a full account. So a try costs less than was saved for it.
type comeback struct {
	least      time.Duration // the lowest credit since the group was paused
	seen       bool          // least is set
	relapses   int           // number of tries in succession after which the storm went on
	returnedAt time.Time     // when the group was last put back
}

const (
	// reserve is the part of a full account that must be saved since the lowest credit before a first try: the credit
	// of 2 s. It doubles with each relapse.
	reserve = 1. / 8
	// hysteresis is the part of a full account by which the credit must exceed the group's level to resume the group in
	// any case.
	hysteresis = 1.5 / 8
	// relapse is the time after a try in which another pause means that the storm went on.
	relapse = 30 * time.Second
)

// paused records that the group was paused.
func (c *comeback) paused(now time.Time) {
	c.seen = false
	if c.returnedAt.IsZero() || now.Sub(c.returnedAt) > relapse {
		c.relapses = 0
	} else {
		c.relapses++
	}
}

// returned records that the group was resumed.
func (c *comeback) returned(now time.Time) { c.returnedAt = now }

// follow follows the account while the group is paused.
func (c *comeback) follow(a ledger.Account) {
	if !c.seen || a.Credit < c.least {
		c.least, c.seen = a.Credit, true
	}
}

// isReady reports whether the group may be resumed.
func (c *comeback) isReady(g ledger.Group, a ledger.Account) bool {
	level, _ := g.Level()
	saved := reserve
	const mostDoublings = 4 // more would exceed a full account
	for range min(c.relapses, mostDoublings) {
		saved *= 2
	}
	full := float64(a.Full)
	return float64(a.Credit) >= min((level+hysteresis)*full, float64(c.least)+saved*full)
}
