// Package budget keeps the cost of probes within a share of the time. It prices hits, and pauses groups of probes that
// cost too much. After a pause of the probes on NumPy, [Searches] look for the arrays that were allocated or freed
// meanwhile.
package budget

import (
	"log/slog"
	"slices"
	"time"

	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

// Budget keeps the cost of the probes below a share of the time. The kernel keeps an account for each root and steps
// groups of probes down when it runs dry (bpf/budget.h). The budget sets the price of a hit, takes probes out, and
// steps groups up again when the account has filled.
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
