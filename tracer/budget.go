package tracer

import (
	"log/slog"
	"slices"
	"time"

	"ipytracer/internal/ledger"
)

// budget keeps the cost of the probes below a share of the time. The kernel keeps an account for each root and steps
// groups of probes down when it runs dry (bpf/budget.h). The budget sets the price of a hit, takes probes out, and
// steps groups up again when the account has filled.
type budget struct {
	ledger   accounts
	log      *slog.Logger
	report   *certificate
	searches *searches // for arrays that were allocated or freed without a probe
	prices   prices
	roots    map[uint32]*steps
}

// fullTime is how long an account takes to fill: with a share of 3 % it holds half a second of probe time.
const fullTime = 50 * time.Second / 3

// prepare opens the accounts that roots get from then on, with a share of the time; a negative share means no limit.
func (b *budget) prepare(l accounts, share float64, log *slog.Logger) error {
	b.ledger, b.log, b.roots = l, log, map[uint32]*steps{}
	if share >= 0 {
		if err := l.SetBudget(share, time.Duration(share*float64(fullTime))); err != nil {
			return err
		}
	}
	return b.prices.begin(l, share < 0, log)
}

func (b *budget) root(root uint32) *steps {
	r := b.roots[root]
	if r == nil {
		r = &steps{}
		b.roots[root] = r
	}
	return r
}

func (b *budget) isShed(root uint32, g ledger.Group) bool {
	return b.roots[root] != nil && slices.Contains(b.roots[root].down, g)
}

// isDown reports whether any group of any root is stepped down.
func (b *budget) isDown() bool {
	for _, r := range b.roots {
		if len(r.down) > 0 {
			return true
		}
	}
	return false
}

// shed notes that the kernel has stepped a group of a root down.
func (b *budget) shed(root uint32, g ledger.Group) {
	if _, ok := g.Level(); !ok || b.isShed(root, g) {
		return
	}
	r := b.root(root)
	r.down, r.takeOut = append(r.down, g), append(r.takeOut, g)
	r.comeback(g).left(time.Now())
	if g == ledger.GroupNumPy {
		r.since = time.Now()
		if r.looks != nil {
			r.looks.spoilt = true
		}
	}
}

// stepDown takes out the probes of groups that the kernel has stepped down.
func (b *budget) stepDown(targets []*target) {
	for root, r := range b.roots {
		for _, g := range r.takeOut {
			for _, t := range targets {
				if t.python == nil || t.root != root {
					continue
				}
				for _, i := range t.instruments {
					i.stepDown(g)
				}
			}
			b.log.Info("stepped down to keep the overhead budget", "probes", g, "root", root)
		}
		if slices.Contains(r.takeOut, ledger.GroupNumPy) {
			b.searches.begin(targets, root, r, true)
		}
		r.takeOut = nil
	}
}

// stepUp steps up one group of each root with a filled account.
func (b *budget) stepUp(targets []*target) {
	for root, r := range b.roots {
		if len(r.down) == 0 {
			continue
		}
		account, err := b.ledger.Account(root)
		if err != nil {
			b.report.problem("the account of the overhead budget: %v", err)
			continue
		}
		if g, ok := r.next(account, r.rests); ok {
			b.putBack(targets, root, r, g)
		}
	}
}

// putBack steps a group of a root up: first its probes, which do nothing yet, then the boundary at which they begin to
// count.
func (b *budget) putBack(targets []*target, root uint32, r *steps, g ledger.Group) {
	alive := -1
	for _, t := range targets {
		if t.root != root || t.gone {
			continue
		}
		alive = t.pid
		if t.python == nil {
			continue
		}
		if err := t.stepUp(g); err != nil {
			b.log.Warn("the probes could not be put back", "probes", g, "error", err)
			return // another time
		}
	}
	if alive < 0 || b.ledger.Back(g, alive) != nil {
		return // it has ended meanwhile
	}
	r.down = slices.DeleteFunc(r.down, func(x ledger.Group) bool { return x == g })
	r.comeback(g).returned(time.Now())
	b.log.Info("stepped up again", "probes", g, "root", root)
	if g == ledger.GroupNumPy {
		b.searches.begin(targets, root, r, false)
	}
}
