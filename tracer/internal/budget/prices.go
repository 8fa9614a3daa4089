package budget

import (
	"log/slog"
	"time"

	"ipytracer/event"
	"ipytracer/internal/ledger"
	"ipytracer/internal/words"
	"ipytracer/tracer/internal/tracee"
)

// Prices measures the costs of hits on this machine, beside the attach, and again later until two measurements agree.
// The lowest costs count.
type Prices struct {
	Ledger   tracee.Accounts
	Log      *slog.Logger
	unpaid   bool // there is no budget: the costs are only for the report
	Costs    ledger.Costs
	measured chan Measurement // nil: nothing is being measured
	Again    time.Time        // when to measure again; the zero time: never
	times    int              // number of successful measurements
	agreed   int              // number of measurements that agree with the costs that count
	tries    int              // number of attempts
	Heap     time.Duration    // cost to the targets of a malloc and its free; 0 until known
}

type Measurement struct {
	Costs ledger.Costs
	Err   error
}

const (
	measuredAgain = 5 * time.Second // between the first two measurements; each later time is three times the one before
	MeasuredMost  = 5               // the largest number of measurements
)

// planted changes the measured costs in a build for tests (broken.go).
var planted = func(c ledger.Costs) ledger.Costs { return c }

// begin tells the kernel half the usual costs, which hold until measured ones arrive. It starts the measurement, which
// takes a while.
func (p *Prices) begin(unpaid bool) error {
	p.unpaid = unpaid
	p.start()
	return p.apply()
}

func (p *Prices) start() {
	measured := make(chan Measurement, 1)
	p.measured, p.Again = measured, time.Time{}
	go func() {
		costs, err := p.Ledger.Calibrate()
		measured <- Measurement{costs, err}
	}()
}

// Settle takes over measured costs once they have arrived, and measures again when it is time.
func (p *Prices) Settle() error {
	if !p.Again.IsZero() && time.Now().After(p.Again) {
		p.start()
	}
	select {
	case m := <-p.measured:
		return p.Take(m)
	default:
		return nil
	}
}

// Demand waits for measured costs.
func (p *Prices) Demand() error {
	if p.measured == nil {
		p.start()
	}
	return p.Take(<-p.measured)
}

// Wait waits for the end of a measurement that is under way: it holds probes of its own.
func (p *Prices) Wait() {
	p.Again = time.Time{}
	if p.measured != nil {
		<-p.measured
		p.measured = nil
	}
}

// Take takes over the result of a measurement. Of two costs the lower counts.
func (p *Prices) Take(m Measurement) error {
	p.measured = nil
	p.tries++
	if m.Err != nil {
		p.fail(m.Err)
		return nil
	}
	before, first := p.Costs, p.times == 0
	if p.times++; first {
		p.Costs = m.Costs
	} else {
		p.Costs = before.Least(m.Costs)
	}
	p.confirm(first || !before.Agree(p.Costs), m.Costs)
	p.Log.Debug("cost of a probe", "emulated", p.Costs.Emulated, "stepped", p.Costs.Stepped, "noisy", p.Costs.Noisy)
	return p.apply()
}

// confirm counts the measurements that agree with the costs that count, and schedules another until there are two.
func (p *Prices) confirm(changed bool, measured ledger.Costs) {
	if changed {
		p.agreed = 0
	}
	if !measured.Noisy && measured.Agree(p.Costs) {
		p.agreed++
	}
	if p.agreed < agreeing {
		p.repeat()
	}
}

// agreeing is the number of measurements that must agree.
const agreeing = 2

// fail logs which costs apply after a failed measurement, and schedules another.
func (p *Prices) fail(err error) {
	if p.times == 0 {
		p.Log.Warn("the cost of a probe could not be measured, assuming a usual one", "error", err)
	} else {
		p.Log.Warn("the cost of a probe could not be measured again, keeping the one that was measured", "error", err)
	}
	p.repeat()
}

// repeat schedules another measurement, unless there were enough attempts.
func (p *Prices) repeat() {
	if p.tries >= MeasuredMost {
		return
	}
	after := measuredAgain
	for range p.tries - 1 {
		after *= 3
	}
	p.Again = time.Now().Add(after)
}

// dear returns a description of the costs if they are higher than on most machines, otherwise "".
func (p *Prices) dear() string {
	if p.times == 0 || !p.Costs.AreDear() {
		return ""
	}
	return words.DearTraps(int64(p.Costs.Emulated), int64(p.Costs.Stepped), p.Costs.Noisy)
}

// Mark adds the reason to probes that are dear only because of the machine.
func (p *Prices) Mark(used []event.ProbeUse) []event.ProbeUse {
	why := p.dear()
	for i := range used {
		if used[i].Dear == "" {
			used[i].Dear, used[i].DearMachine = why, why != ""
		}
	}
	return used
}

// Hit returns the cost of a hit, without the cost of the probe's program.
func (p *Prices) Hit(emulated bool) time.Duration {
	if emulated {
		return p.Costs.Emulated
	}
	return p.Costs.Stepped
}

// HeapCosts records the cost to a target of a malloc and its free. The highest cost counts.
func (p *Prices) HeapCosts(d time.Duration) { p.Heap = max(p.Heap, d) }

// Of returns the cost of a hit at an emulated place, with the cost of the group's program in a usual case. It does so
// also for groups whose hits have no price.
func (p *Prices) Of(g ledger.Group) time.Duration { return p.Costs.Emulated + Work[g] }

// Work is the cost of a probe's program on top of the hit, in a usual case. It leaves out stack walks, which are
// measured (see docs/overhead.md).
var Work = map[ledger.Group]time.Duration{
	ledger.GroupNumPy: 400 * time.Nanosecond, ledger.GroupStatement: 200 * time.Nanosecond,
	ledger.GroupResult: 200 * time.Nanosecond,
	ledger.GroupCell:   200 * time.Nanosecond, ledger.GroupSignal: 200 * time.Nanosecond,
	ledger.GroupTorchCPU: 400 * time.Nanosecond, ledger.GroupArrow: 300 * time.Nanosecond,
	ledger.GroupTorch: 300 * time.Nanosecond, ledger.GroupHeap: 300 * time.Nanosecond,
}

// discounts has, by group, the number by which what the group spends is divided.
var discounts = map[ledger.Group]uint{
	// PyTorch's totals come with work on a GPU, which the CPU runs ahead of. A training loop that makes some thousand
	// tensors a step must not lose its peaks.
	ledger.GroupTorch: 4,
	// The documentation of cpu.heap says that it is expensive, and figures without lines are not its purpose. The meter
	// itself is never paused.
	ledger.GroupBlocks: 8,
}

// paid are the groups with a price for their hits. Calls of the CUDA driver cost nothing here: they are slow
// themselves.
var paid = []ledger.Group{
	ledger.GroupNumPy, ledger.GroupStatement, ledger.GroupResult, ledger.GroupCell, ledger.GroupSignal,
	ledger.GroupCode, ledger.GroupTorch, ledger.GroupTorchCPU, ledger.GroupArrow,
}

// apply sets the prices of hits in the kernel half, for each group and kind of site.
func (p *Prices) apply() error {
	if p.unpaid {
		return nil
	}
	costs := planted(p.Costs)
	for _, g := range paid {
		price := ledger.Costs{Emulated: costs.Emulated + Work[g], Stepped: costs.Stepped + Work[g]}
		if err := p.Ledger.SetPrice(g, price, max(discounts[g], 1)); err != nil {
			return err
		}
	}
	// Each of malloc's blocks is streamed while its lines are looked up. The hit has no price: the documentation of the
	// meter states its cost.
	block := Work[ledger.GroupHeap]
	return p.Ledger.SetPrice(ledger.GroupBlocks, ledger.Costs{Emulated: block, Stepped: block},
		discounts[ledger.GroupBlocks])
}
