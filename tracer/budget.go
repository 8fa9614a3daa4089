package tracer

import (
	"log/slog"
	"slices"
	"time"

	"ipytracer/tracer/cpython"
	"ipytracer/tracer/cuda"
	"ipytracer/tracer/ledger"
)

// budget keeps the cost of the probes below a share of the time. The kernel keeps an account for each root and steps groups
// of probes down when it runs dry (bpf/budget.h); this side says what a hit costs, takes probes out, and steps groups up
// again when the account has filled.
type budget struct {
	ledger   accounts
	log      *slog.Logger
	report   *certificate
	searches *searches // for arrays that nobody saw come or go
	share    float64   // of the time; negative: no limit
	costs    ledger.Costs
	measured chan ledger.Costs // nil: nothing is being measured
	prices   [ledger.GroupCount]time.Duration
	roots    map[uint32]*steps
}

// steps are the groups of a root that are stepped down, in the order in which they were.
type steps struct {
	down    []ledger.Group
	takeOut []ledger.Group // stepped down by the kernel, probes still in place
	looks   *looks         // for arrays, while it is under way
	since   time.Time      // when NumPy's meter was paused
	rest    time.Duration  // it stays so at least so long
}

// fullTime is how long an account takes to fill: with a share of 3 % it holds half a second of probe time.
const fullTime = 50 * time.Second / 3

func (b *budget) prepare(l accounts, share float64, log *slog.Logger) error {
	b.ledger, b.share, b.log, b.costs, b.roots = l, share, log, ledger.UsualCosts, map[uint32]*steps{}
	if share < 0 {
		return nil
	}
	if err := l.SetBudget(share, time.Duration(share*float64(fullTime))); err != nil {
		return err
	}
	// Measuring takes a while; until it is done the usual costs hold.
	b.measured = make(chan ledger.Costs, 1)
	go func() {
		costs, err := l.Calibrate()
		if err != nil {
			log.Warn("the cost of a probe could not be measured, assuming a usual one", "error", err)
			costs = ledger.UsualCosts
		}
		b.measured <- costs
	}()
	return nil
}

// calibrated takes the measured costs in once they are there.
func (b *budget) calibrated(targets []*target) error {
	select {
	case b.costs = <-b.measured:
		b.measured = nil
	default:
		return nil
	}
	b.log.Debug("cost of a probe", "emulated", b.costs.Emulated, "stepped", b.costs.Stepped)
	b.prices = [ledger.GroupCount]time.Duration{}
	for _, t := range targets {
		if t.python != nil && !t.gone {
			for _, i := range t.instruments {
				if err := i.limit(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// measure waits for what probes cost, or measures it.
func (b *budget) measure() (err error) {
	if b.measured == nil {
		b.costs, err = b.ledger.Calibrate()
		return err
	}
	b.costs, b.measured = <-b.measured, nil
	return nil
}

// wait lets a measurement that is under way come to its end: it holds probes of its own.
func (b *budget) wait() {
	if b.measured != nil {
		<-b.measured
		b.measured = nil
	}
}

// work is what the program behind a probe costs on top of the hit, in a usual case and without walks up a stack, which are
// measured (see docs/overhead.md).
var work = map[ledger.Group]time.Duration{
	ledger.GroupNumPy: 400 * time.Nanosecond, ledger.GroupStatement: 200 * time.Nanosecond, ledger.GroupResult: 200 * time.Nanosecond,
	ledger.GroupCell: 200 * time.Nanosecond, ledger.GroupSignal: 200 * time.Nanosecond,
	ledger.GroupTorchCPU: 400 * time.Nanosecond,
	ledger.GroupTorch:    300 * time.Nanosecond, ledger.GroupHeap: 300 * time.Nanosecond,
}

// Discounts: what a group spends counts only so much.
var discounts = map[ledger.Group]uint{
	// PyTorch's totals come with work on a GPU, which the CPU runs ahead of, and a training loop that makes some thousand tensors a
	// step must not lose its peaks.
	ledger.GroupTorch: 4,
	// Who asks for cpu.heap has been told that it is dear, and figures without lines are not what was asked for. The meter itself
	// is never stepped down.
	ledger.GroupBlocks: 8,
}

func discount(g ledger.Group) uint { return max(discounts[g], 1) }

// limitPython tells the kernel what a hit costs, for the dearest build traced so far.
func (b *budget) limitPython(sites cpython.Sites) error {
	for g := range ledger.Group(ledger.PythonGroups) {
		emulated := true
		for _, site := range usual(g, sites) {
			emulated = emulated && (!site.Present() || site.Emulated)
		}
		if err := b.set(g, emulated); err != nil {
			return err
		}
	}
	return nil
}

// limitHeap does so for malloc's blocks, each of which is streamed while its lines are found out.
func (b *budget) limitHeap() error {
	if b.share < 0 {
		return nil
	}
	return b.ledger.SetPrice(ledger.GroupBlocks, work[ledger.GroupHeap], discount(ledger.GroupBlocks))
}

// limitLibrary does so for the probes on a library. Calls of the CUDA driver cost nothing here: they are slow themselves.
func (b *budget) limitLibrary(sites cuda.Sites) error {
	if sites.Kind != cuda.Torch {
		return nil
	}
	if tensors := sites.Tensors; tensors.Present() {
		if err := b.set(ledger.GroupTorchCPU, tensors.Made.Emulated && tensors.Freed.Emulated); err != nil {
			return err
		}
	}
	if sites.Report.Symbol == "" {
		return nil
	}
	return b.set(ledger.GroupTorch, sites.Report.Emulated)
}

func (b *budget) set(g ledger.Group, emulated bool) error {
	if b.share < 0 {
		return nil
	}
	price := b.costs.Emulated
	if !emulated {
		price = b.costs.Stepped
	}
	price += work[g]
	if price <= b.prices[g] {
		return nil
	}
	b.prices[g] = price
	return b.ledger.SetPrice(g, price, discount(g))
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

// shed notes that the kernel has stepped a group of a root down.
func (b *budget) shed(root uint32, g ledger.Group) {
	if _, ok := g.Level(); !ok || b.isShed(root, g) {
		return
	}
	r := b.root(root)
	r.down, r.takeOut = append(r.down, g), append(r.takeOut, g)
	if g == ledger.GroupNumPy {
		r.since = time.Now()
		if r.looks != nil {
			r.looks.spoilt = true
		}
	}
}

// hysteresis is how much more credit than its level a group must have behind it to be stepped up, as a part of a full account.
const hysteresis = 1.5 / 8

// next is the group of a root to step up first, if its account has filled far enough: what was stepped down last by its nature.
func (r *steps) next(a ledger.Account) (g ledger.Group, ok bool) {
	if len(r.down) == 0 {
		return 0, false
	}
	g = slices.MinFunc(r.down, func(x, y ledger.Group) int {
		a, _ := x.Level()
		b, _ := y.Level()
		switch {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return slices.Index(r.down, y) - slices.Index(r.down, x)
	})
	level, _ := g.Level()
	return g, float64(a.Credit) >= (level+hysteresis)*float64(a.Full)
}

// stepDown takes the probes of groups out that the kernel has stepped down.
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

// stepUp steps one group of each root up whose account has filled.
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
		if g, ok := r.next(account); ok && !(g == ledger.GroupNumPy && (r.looks != nil || time.Since(r.since) < r.rest)) {
			b.putBack(targets, root, r, g)
		}
	}
}

// putBack steps a group of a root up: its probes first, which do nothing yet, then the boundary from which on they count.
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
	b.log.Info("stepped up again", "probes", g, "root", root)
	if g == ledger.GroupNumPy {
		b.searches.begin(targets, root, r, false)
	}
}

// stepUp puts the probes of a group in.
func (t *target) stepUp(g ledger.Group) error {
	for _, i := range t.instruments {
		if err := i.stepUp(g); err != nil {
			return err
		}
	}
	return nil
}
