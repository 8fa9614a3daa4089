package tracer

import (
	"log/slog"
	"time"

	"ipytracer/event"
	"ipytracer/internal/ledger"
	"ipytracer/internal/words"
)

// prices are the costs of hits on this machine. They are measured beside the attach, and again later until two
// measurements agree; the lowest counts.
type prices struct {
	ledger   accounts
	log      *slog.Logger
	unpaid   bool // no budget: the costs are only for the report
	costs    ledger.Costs
	measured chan measurement // nil: nothing is being measured
	again    time.Time        // when to measure again; the zero time: never
	times    int              // number of successful measurements
	same     int              // number of those that agree with the costs that count
	tries    int              // number of attempts
	heap     time.Duration    // cost to the targets of a malloc and its free; 0 until known
}

type measurement struct {
	costs ledger.Costs
	err   error
}

// Until two measurements agree, another follows after this time, then after three times that, and so on, up to a
// maximum of attempts.
const (
	measuredAgain = 5 * time.Second
	measuredMost  = 5
)

// planted changes the measured costs in a build for tests (broken.go).
var planted = func(c ledger.Costs) ledger.Costs { return c }

// begin sets the usual costs until measured ones arrive, and starts the measurement, which takes a while.
func (p *prices) begin(l accounts, unpaid bool, log *slog.Logger) error {
	p.ledger, p.unpaid, p.log, p.costs = l, unpaid, log, ledger.UsualCosts
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

// settle takes over measured costs once they have arrived, and measures again when it is time.
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

// demand waits for measured costs.
func (p *prices) demand() error {
	if p.measured == nil {
		p.start()
	}
	return p.take(<-p.measured)
}

// wait waits for the end of a measurement that is under way: it holds probes of its own.
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
	before, first := p.costs, p.times == 0
	if p.times++; first {
		p.costs = m.costs
	} else {
		p.costs = before.Least(m.costs)
	}
	p.confirm(first || !before.Agree(p.costs), m.costs)
	p.log.Debug("cost of a probe", "emulated", p.costs.Emulated, "stepped", p.costs.Stepped, "noisy", p.costs.Noisy)
	return p.tell()
}

// confirm counts the measurements that agree with the costs that count, and schedules another until there are two.
func (p *prices) confirm(changed bool, measured ledger.Costs) {
	if changed {
		p.same = 0
	}
	if !measured.Noisy && measured.Agree(p.costs) {
		p.same++
	}
	if p.same < agreeing {
		p.repeat()
	}
}

// agreeing is the number of measurements that must agree.
const agreeing = 2

// fail logs which costs apply after a failed measurement, and schedules another.
func (p *prices) fail(err error) {
	if p.times == 0 {
		p.log.Warn("the cost of a probe could not be measured, assuming a usual one", "error", err)
	} else {
		p.log.Warn("the cost of a probe could not be measured again, keeping the one that was measured", "error", err)
	}
	p.repeat()
}

// repeat schedules another measurement, unless there were enough attempts.
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

// dear describes the costs if they are higher than on most machines; "" if not.
func (p *prices) dear() string {
	if p.times == 0 || !p.costs.AreDear() {
		return ""
	}
	return words.DearTraps(int64(p.costs.Emulated), int64(p.costs.Stepped), p.costs.Noisy)
}

// mark adds the reason to probes that are dear only because of the machine.
func (p *prices) mark(used []event.ProbeUse) []event.ProbeUse {
	why := p.dear()
	for i := range used {
		if used[i].Dear == "" {
			used[i].Dear, used[i].DearMachine = why, why != ""
		}
	}
	return used
}

// hit returns the cost of a hit, without that of its program.
func (p *prices) hit(emulated bool) time.Duration {
	if emulated {
		return p.costs.Emulated
	}
	return p.costs.Stepped
}

// heapCosts records the cost of a malloc and its free to a target. The highest counts.
func (p *prices) heapCosts(d time.Duration) { p.heap = max(p.heap, d) }

// of returns the cost of a hit at an emulated place, with that of the group's program in a usual case, also where hits
// have no price.
func (p *prices) of(g ledger.Group) time.Duration { return p.costs.Emulated + work[g] }

// work is the cost of the program behind a probe on top of the hit, in a usual case and without stack walks, which are
// measured (see docs/overhead.md).
var work = map[ledger.Group]time.Duration{
	ledger.GroupNumPy: 400 * time.Nanosecond, ledger.GroupStatement: 200 * time.Nanosecond,
	ledger.GroupResult: 200 * time.Nanosecond,
	ledger.GroupCell:   200 * time.Nanosecond, ledger.GroupSignal: 200 * time.Nanosecond,
	ledger.GroupTorchCPU: 400 * time.Nanosecond, ledger.GroupArrow: 300 * time.Nanosecond,
	ledger.GroupTorch: 300 * time.Nanosecond, ledger.GroupHeap: 300 * time.Nanosecond,
}

// Discounts: the spending of a group counts divided by this.
var discounts = map[ledger.Group]uint{
	// PyTorch's totals come with work on a GPU, which the CPU runs ahead of. A training loop that makes some thousand
	// tensors a step must not lose its peaks.
	ledger.GroupTorch: 4,
	// The documentation of cpu.heap says that it is expensive, and figures without lines are not its purpose. The meter
	// itself is never stepped down.
	ledger.GroupBlocks: 8,
}

// paid are the groups with a price for their hits. Calls of the CUDA driver cost nothing here: they are slow
// themselves.
var paid = []ledger.Group{
	ledger.GroupNumPy, ledger.GroupStatement, ledger.GroupResult, ledger.GroupCell, ledger.GroupSignal,
	ledger.GroupCode, ledger.GroupTorch, ledger.GroupTorchCPU, ledger.GroupArrow,
}

// tell sends the kernel the price of a hit at a site of each kind.
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
	// Each of malloc's blocks is streamed while its lines are looked up. The hit has no price: the documentation of the
	// meter states its cost.
	block := work[ledger.GroupHeap]
	return p.ledger.SetPrice(ledger.GroupBlocks, ledger.Costs{Emulated: block, Stepped: block},
		discounts[ledger.GroupBlocks])
}
