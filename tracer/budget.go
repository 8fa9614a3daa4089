package tracer

import (
	"log/slog"
	"math/bits"
	"time"

	"ipytracer/tracer/cpython"
	"ipytracer/tracer/cuda"
	"ipytracer/tracer/ledger"
)

// budget keeps the cost of the sheddable probes below a share of one core. The kernel counts and sheds
// (bpf/numpy.h, spend); this side takes the probes out, and puts them back after a while to see.
type budget struct {
	ledger   *ledger.Ledger
	log      *slog.Logger
	share    float64 // of one core; negative: no limit
	native   bool    // native frames are walked on every stack
	costs    ledger.Costs
	measured chan ledger.Costs // nil: nothing is being measured
	groups   [ledger.GroupCount]groupBudget
}

type groupBudget struct {
	shed     bool
	takeOut  bool // shed by the kernel, probes still in place
	back     time.Time
	patience time.Duration
	cost     time.Duration // of one hit
}

const (
	firstBack = time.Second
	lastBack  = 30 * time.Second
)

// sheddable groups. Without the others there would be no cells at all, and they fire a few times a cell.
var sheddable = []ledger.Group{ledger.GroupNumPy, ledger.GroupStatement, ledger.GroupResult}

func (b *budget) prepare(l *ledger.Ledger, share float64, log *slog.Logger) {
	b.ledger, b.share, b.log, b.costs = l, share, log, ledger.UsualCosts
	if share < 0 {
		return
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
	for g := range b.groups {
		b.groups[g].cost = 0
	}
	for _, t := range targets {
		if t.python != nil && !t.gone {
			if err := b.limit(t.python.sites); err != nil {
				return err
			}
			for _, l := range t.libraries {
				if err := b.limitLibrary(l.sites); err != nil {
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

// work is what the program behind a probe costs on top of the hit, in a usual case (see docs/overhead.md).
var work = map[ledger.Group]time.Duration{
	ledger.GroupNumPy: 400 * time.Nanosecond, ledger.GroupStatement: 200 * time.Nanosecond, ledger.GroupResult: 200 * time.Nanosecond,
	ledger.GroupTorchCPU: 400 * time.Nanosecond,
	ledger.GroupTorch:    300 * time.Nanosecond, ledger.GroupFrames: 1500 * time.Nanosecond,
	ledger.GroupTensors: 2000 * time.Nanosecond, ledger.GroupMapping: 1500 * time.Nanosecond,
	ledger.GroupHeap: 300 * time.Nanosecond, ledger.GroupBlocks: 2000 * time.Nanosecond,
}

// nativeWork is what native frames add to a walk, likewise.
const nativeWork = 2 * time.Microsecond

// limit tells the kernel how many hits are too many, for the dearest build traced so far.
func (b *budget) limit(sites cpython.Sites) error {
	if b.share < 0 {
		return nil
	}
	for _, g := range sheddable {
		emulated := true
		for _, site := range usual(g, sites) {
			emulated = emulated && (!site.Present() || site.Emulated)
		}
		if err := b.set(g, emulated, b.share); err != nil {
			return err
		}
	}
	if err := b.set(ledger.GroupMapping, true, b.share); err != nil {
		return err
	}
	return b.set(ledger.GroupFrames, true, b.share)
}

// torchShare is how many times the budget PyTorch's totals may cost: they come with work on a GPU, which the CPU runs ahead
// of, and a training loop that makes some thousand tensors a step must not lose its peaks.
const torchShare = 4

// heapShare is how many times the budget the lines of cpu.heap may cost: who asks for the meter has been told that it is dear, and
// figures without lines are not what was asked for. The meter itself is never stepped down.
const heapShare = 10

func (b *budget) limitHeap() error {
	if b.share < 0 {
		return nil
	}
	return b.set(ledger.GroupBlocks, true, heapShare*b.share)
}

// limitLibrary does the same for the probes on a library. Calls of the CUDA driver are never shed: they are slow themselves.
func (b *budget) limitLibrary(sites cuda.Sites) error {
	if b.share < 0 || sites.Kind != cuda.Torch {
		return nil
	}
	if tensors := sites.Tensors; tensors.Present() {
		if err := b.set(ledger.GroupTorchCPU, tensors.Made.Emulated && tensors.Freed.Emulated, b.share); err != nil {
			return err
		}
	}
	if err := b.set(ledger.GroupTorch, sites.Report.Emulated, torchShare*b.share); err != nil {
		return err
	}
	return b.set(ledger.GroupTensors, true, b.share)
}

func (b *budget) set(g ledger.Group, emulated bool, share float64) error {
	cost := b.costs.Emulated
	if !emulated {
		cost = b.costs.Stepped
	}
	cost += work[g]
	if b.native && (g == ledger.GroupFrames || g == ledger.GroupTensors) {
		cost += nativeWork
	}
	if cost <= b.groups[g].cost {
		return nil
	}
	b.groups[g].cost = cost
	stride, slice := rate(share, cost)
	return b.ledger.SetBudget(g, stride, slice)
}

// rate turns a share and a cost into "stride hits within slice ns are too many": as many hits as fit into about
// 40 ms of allowance, so that a storm is stopped well within a tenth of a second.
func rate(share float64, cost time.Duration) (stride uint32, slice uint64) {
	hits := share * float64(40*time.Millisecond) / float64(cost)
	if hits < 2 {
		hits = 2
	}
	stride = 1 << (bits.Len32(uint32(hits)) - 1)
	return stride, uint64(float64(stride) * float64(cost) / share)
}

func (b *budget) isShed(g ledger.Group) bool { return b.groups[g].shed }

// shed notes that the kernel has shed a group.
func (b *budget) shed(g ledger.Group) {
	if g >= ledger.GroupCount || b.groups[g].shed {
		return
	}
	s := &b.groups[g]
	s.shed, s.takeOut = true, true
	if time.Since(s.back) > 2*lastBack { // it was well for long
		s.patience = 0
	}
	s.patience = min(max(2*s.patience, firstBack), lastBack)
	s.back = time.Now().Add(s.patience)
}

// nextBack is when the next group is to be tried again.
func (b *budget) nextBack() (at time.Time, ok bool) {
	for g := range b.groups {
		if s := &b.groups[g]; s.shed && (!ok || s.back.Before(at)) {
			at, ok = s.back, true
		}
	}
	return at, ok
}

// stepDown takes the probes of shed groups out.
func (s *Session) stepDown() {
	for g := range s.budget.groups {
		state := &s.budget.groups[g]
		if !state.takeOut {
			continue
		}
		state.takeOut = false
		for _, t := range s.targets {
			if t.python == nil {
				continue
			}
			t.stepDownLibraries(ledger.Group(g))
			if c := t.python.groups[ledger.Group(g)]; c != nil {
				_ = c.Close()
				delete(t.python.groups, ledger.Group(g))
			}
		}
		s.log.Info("stepped down to keep the overhead budget", "probes", ledger.Group(g), "again in", state.patience)
	}
}

// stepUp puts groups back whose time has come. If they fire too often still, the kernel sheds them at once.
func (s *Session) stepUp(at time.Time) {
	for g := range s.budget.groups {
		state := &s.budget.groups[g]
		if !state.shed || state.takeOut || at.Before(state.back) {
			continue
		}
		state.shed = false
		for _, t := range s.targets {
			if t.python == nil || t.gone {
				continue
			}
			if err := s.ledger.Back(ledger.Group(g), t.pid); err != nil {
				continue
			}
			err := s.place(t, ledger.Group(g))
			if err == nil {
				err = s.stepUpLibraries(t, ledger.Group(g))
			}
			if err != nil {
				s.log.Warn("the probes could not be put back", "probes", ledger.Group(g), "error", err)
			}
		}
	}
}
