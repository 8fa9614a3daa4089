package tracer

import (
	"log/slog"
	"time"

	"ipytracer/tracer/ledger"
)

// prices are what hits cost on this machine. They are measured beside the attach, and again later where that was noisy;
// the least counts.
type prices struct {
	ledger   accounts
	log      *slog.Logger
	unpaid   bool // nobody pays: the user only wants to know them
	costs    ledger.Costs
	measured chan measurement // nil: nothing is being measured
	again    time.Time        // when to measure again; the zero time: never
	times    int              // they were measured
	tries    int              // to measure them
	heap     time.Duration    // what a malloc and its free cost the targets; 0 until known
}

type measurement struct {
	costs ledger.Costs
	err   error
}

// A measurement that is noisy or fails is repeated after this time, then after three times that, and so on, so often at
// most in all.
const (
	measuredAgain = 5 * time.Second
	measuredMost  = 5
)

// planted is what a build for tests makes of what was measured (broken.go).
var planted = func(c ledger.Costs) ledger.Costs { return c }

// begin has the usual costs hold until others are there, and starts to measure them, which takes a while.
func (p *prices) begin(l accounts, unpaid bool, log *slog.Logger) error {
	p.ledger, p.unpaid, p.log, p.costs = l, unpaid, log, ledger.UsualCosts
	if unpaid {
		return nil
	}
	p.start()
	return p.tell()
}

func (p *prices) start() {
	measured := make(chan measurement, 1)
	p.measured, p.again = measured, time.Time{}
	go func() {
		costs, err := p.ledger.Calibrate()
		measured <- measurement{costs, err}
	}()
}

// settle takes measured costs in once they are there, and measures again when it is time.
func (p *prices) settle() error {
	if !p.again.IsZero() && time.Now().After(p.again) {
		p.start()
	}
	select {
	case m := <-p.measured:
		return p.take(m)
	default:
		return nil
	}
}

// demand waits for costs that were measured.
func (p *prices) demand() error {
	if p.measured == nil {
		p.start()
	}
	return p.take(<-p.measured)
}

// wait lets a measurement that is under way come to its end: it holds probes of its own.
func (p *prices) wait() {
	p.again = time.Time{}
	if p.measured != nil {
		<-p.measured
		p.measured = nil
	}
}

func (p *prices) take(m measurement) error {
	p.measured = nil
	p.tries++
	if m.err != nil {
		p.fail(m.err)
		return nil
	}
	if p.times++; p.times > 1 {
		m.costs = p.costs.Least(m.costs)
	}
	p.costs = m.costs
	if p.costs.Noisy {
		p.repeat()
	}
	p.log.Debug("cost of a probe", "emulated", p.costs.Emulated, "stepped", p.costs.Stepped, "noisy", p.costs.Noisy)
	return p.tell()
}

// fail says which costs hold although a measurement failed, and has them measured again.
func (p *prices) fail(err error) {
	if p.times == 0 {
		p.log.Warn("the cost of a probe could not be measured, assuming a usual one", "error", err)
	} else {
		p.log.Warn("the cost of a probe could not be measured again, keeping the one that was measured", "error", err)
	}
	p.repeat()
}

// repeat has the costs measured again after a while, unless that was done often enough.
func (p *prices) repeat() {
	if p.tries >= measuredMost {
		return
	}
	after := measuredAgain
	for range p.tries - 1 {
		after *= 3
	}
	p.again = time.Now().Add(after)
}

// hit is what one costs, without what its program does.
func (p *prices) hit(emulated bool) time.Duration {
	if emulated {
		return p.costs.Emulated
	}
	return p.costs.Stepped
}

// heapCosts notes what a malloc and its free cost a target. The most stands.
func (p *prices) heapCosts(d time.Duration) { p.heap = max(p.heap, d) }

// of is what a hit at an emulated place costs with what the group's program usually does, whether or not anybody pays.
func (p *prices) of(g ledger.Group) time.Duration { return p.costs.Emulated + work[g] }

// work is what the program behind a probe costs on top of the hit, in a usual case and without walks up a stack, which
// are measured (see docs/overhead.md).
var work = map[ledger.Group]time.Duration{
	ledger.GroupNumPy: 400 * time.Nanosecond, ledger.GroupStatement: 200 * time.Nanosecond,
	ledger.GroupResult: 200 * time.Nanosecond,
	ledger.GroupCell:   200 * time.Nanosecond, ledger.GroupSignal: 200 * time.Nanosecond,
	ledger.GroupTorchCPU: 400 * time.Nanosecond, ledger.GroupArrow: 300 * time.Nanosecond,
	ledger.GroupTorch: 300 * time.Nanosecond, ledger.GroupHeap: 300 * time.Nanosecond,
}

// Discounts: what a group spends counts only so much.
var discounts = map[ledger.Group]uint{
	// PyTorch's totals come with work on a GPU, which the CPU runs ahead of, and a training loop that makes some
	// thousand tensors a step must not lose its peaks.
	ledger.GroupTorch: 4,
	// The documentation of cpu.heap says that it is dear, and figures without lines are not what was asked for. The
	// meter itself is never stepped down.
	ledger.GroupBlocks: 8,
}

// paid are the groups whose hits are paid. Calls of the CUDA driver cost nothing here: they are slow themselves.
var paid = []ledger.Group{
	ledger.GroupNumPy, ledger.GroupStatement, ledger.GroupResult, ledger.GroupCell, ledger.GroupSignal,
	ledger.GroupCode, ledger.GroupTorch, ledger.GroupTorchCPU, ledger.GroupArrow,
}

// tell tells the kernel what a hit costs at a site of each kind.
func (p *prices) tell() error {
	if p.unpaid {
		return nil
	}
	costs := planted(p.costs)
	for _, g := range paid {
		price := ledger.Costs{Emulated: costs.Emulated + work[g], Stepped: costs.Stepped + work[g]}
		if err := p.ledger.SetPrice(g, price, max(discounts[g], 1)); err != nil {
			return err
		}
	}
	// Each of malloc's blocks is streamed while its lines are found out. The hit has no price: the documentation of the
	// meter says what it takes.
	block := work[ledger.GroupHeap]
	return p.ledger.SetPrice(ledger.GroupBlocks, ledger.Costs{Emulated: block, Stepped: block},
		discounts[ledger.GroupBlocks])
}
