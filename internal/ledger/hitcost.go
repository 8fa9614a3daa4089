package ledger

import (
	"errors"
	"slices"
	"time"
)

// The functions that a bench calls: one without a probe, and one with a probe for each kind of place.
const (
	bare = iota
	atEmulated
	atStepped
	benchFunctions
)

// Costs is the cost of one hit of a uprobe on this machine, with a program that does nothing, in CPU time of the thread
// that is hit.
type Costs struct {
	Emulated time.Duration // on an instruction that the kernel emulates: push, nop, jmp, call
	Stepped  time.Duration // on any other instruction, which the kernel single-steps
	// Noisy: the measurements did not agree, and the costs are the highest ones. A later measurement may be lower.
	Noisy bool
}

// UsualCosts are assumed if the costs cannot be measured. They were measured on a small virtual machine with Linux
// 6.18.
var UsualCosts = Costs{Emulated: 600 * time.Nanosecond, Stepped: 10 * time.Microsecond}

// AreDear reports whether a hit costs more than on most machines.
func (c Costs) AreDear() bool { return c.Emulated > mostEmulated || c.Stepped > mostStepped }

// Agree reports whether each cost of two measurements is the same within a tenth.
func (c Costs) Agree(other Costs) bool {
	return agree(min(c.Emulated, other.Emulated), max(c.Emulated, other.Emulated)) &&
		agree(min(c.Stepped, other.Stepped), max(c.Stepped, other.Stepped))
}

// Least returns the lower value of each cost of two measurements: a disturbance can only increase a cost. A noisy
// measurement counts only if both are noisy.
func (c Costs) Least(other Costs) Costs {
	switch {
	case c.Noisy && !other.Noisy:
		return other
	case other.Noisy && !c.Noisy:
		return c
	}
	return Costs{min(c.Emulated, other.Emulated), min(c.Stepped, other.Stepped), c.Noisy}
}

// A hitBench calls functions of this program on one thread.
type hitBench interface {
	run(function, calls int) (spell, error) // calls a function, and returns the time that the calls took
	rest(time.Duration)                     // lets time pass
	now() time.Duration                     // reads the wall clock
}

// spell is a duration by two clocks: the wall clock and the processor time of the thread.
type spell struct{ wall, cpu time.Duration }

// The ways in which a round finds the cost of a hit.
const (
	byCPU   = iota // processor time of a quiet batch with a probe, less that of a quiet batch without
	byWall         // the same by the wall clock
	byPairs        // the median of the differences between consecutive batches with and without a probe
	ways
)

// batchCalls is the number of calls of a function in one batch.
var batchCalls = [benchFunctions]int{bare: 64, atEmulated: 64, atStepped: 8}

const (
	roundBatches = 24 // of each function in a round
	quietPart    = 8  // an eighth of the batches of a round may be quieter than the one that counts
	leastRounds  = 7  // with rests between them, so that a disturbance does not affect all
	roundsRest   = 5 * time.Millisecond
	tolerance    = 10 // figures agree if they differ by at most a tenth
	// A cost is confirmed if this many rounds agree, and at least a fifth of all rounds: in noise, some agree by
	// chance.
	confirming, confirmingImplausible = 3, 5
	confirmingPart                    = 5
	// No round begins after this time.
	longestBench, longestImplausible = 300 * time.Millisecond, 600 * time.Millisecond
)

// The range of plausible costs. An emulated hit is an exception that runs a program: 0.34 to 0.9 µs on many machines,
// and 5.2 µs on one with page-table isolation below a hypervisor. A single-stepped hit has a second exception. A cost
// beyond the range counts only after more measurements.
const (
	leastHit     = 100 * time.Nanosecond
	mostEmulated = 2500 * time.Nanosecond
	mostStepped  = 30 * time.Microsecond
)

var errNoCost = errors.New("the calls with a probe took no longer than those without")

// hitCost gathers the figures of rounds for one kind of place.
type hitCost struct {
	calls       time.Duration // of one batch
	plausible   time.Duration // the end of the range that needs no special care
	rounds      int
	agreed      []time.Duration // by processor time, of rounds in which the ways agree
	least, bare spell           // the least of all batches with a probe and without
}

func (h *hitCost) add(probed, bare figures) {
	h.least, h.bare = probed.least.atMost(h.least), bare.least.atMost(h.bare)
	h.rounds++
	if results := probed.ways[:]; agree(slices.Min(results), slices.Max(results)) {
		h.agreed = append(h.agreed, probed.ways[byCPU])
		slices.Sort(h.agreed)
	}
}

// agree reports whether two positive figures differ by no more than the tolerance.
func agree(low, high time.Duration) bool { return low > 0 && high <= low+low/tolerance }

// confirmed returns the costs of the quietest rounds of which enough agree, nil if there are none.
func (h *hitCost) confirmed() []time.Duration {
	for i, low := range h.agreed {
		n := i
		for n < len(h.agreed) && agree(low, h.agreed[n]) {
			n++
		}
		switch {
		case n-i < max(confirming, h.rounds/confirmingPart): // too few: they may agree by chance
		case h.isPlausible(low) || n-i >= confirmingImplausible:
			return h.agreed[i:n]
		default:
			return nil
		}
	}
	return nil
}

func (h *hitCost) isPlausible(cost time.Duration) bool {
	return cost >= leastHit && cost <= h.plausible
}

func (h *hitCost) isImplausible() bool { return len(h.agreed) > 0 && !h.isPlausible(h.agreed[0]) }

// isSettled reports whether enough rounds agree.
func (h *hitCost) isSettled() bool { return h.rounds >= leastRounds && h.confirmed() != nil }

// cost returns the confirmed cost. If there is none, cost returns the cost in the quietest batches, by the clock that
// shows more.
func (h *hitCost) cost() (cost time.Duration, settled bool, err error) {
	if h.isSettled() {
		agreed := h.confirmed()
		return agreed[(len(agreed)-1)/2], true, nil
	}
	cost = max(h.least.cpu-h.bare.cpu, h.least.wall-h.bare.wall) / h.calls
	if cost <= 0 {
		return 0, false, errNoCost
	}
	return cost, false, nil
}

// atMost returns the lower of two durations by each clock. A zero other counts as none.
func (s spell) atMost(other spell) spell {
	if other == (spell{}) {
		return s
	}
	return spell{min(s.wall, other.wall), min(s.cpu, other.cpu)}
}

// measureHits measures the costs of a hit in rounds until the ways and the rounds agree, or the time is over.
func measureHits(b hitBench) (Costs, error) {
	emulated := hitCost{calls: time.Duration(batchCalls[atEmulated]), plausible: mostEmulated}
	stepped := hitCost{calls: time.Duration(batchCalls[atStepped]), plausible: mostStepped}
	for began := b.now(); ; b.rest(roundsRest) {
		found, err := benchRound(b)
		if err != nil {
			return Costs{}, err
		}
		emulated.add(found[atEmulated], found[bare])
		stepped.add(found[atStepped], found[bare])
		longest := longestBench
		if emulated.isImplausible() || stepped.isImplausible() {
			longest = longestImplausible
		}
		isOver := emulated.rounds >= leastRounds && b.now()-began >= longest
		if isOver || emulated.isSettled() && stepped.isSettled() {
			break
		}
	}
	emulatedCost, emulatedSettled, err := emulated.cost()
	if err != nil {
		return Costs{}, err
	}
	steppedCost, steppedSettled, err := stepped.cost()
	return Costs{Emulated: emulatedCost, Stepped: steppedCost, Noisy: !emulatedSettled || !steppedSettled}, err
}

// figures are the figures of one function in a round.
type figures struct {
	ways  [ways]time.Duration // the cost of a hit
	least spell               // of a batch
}

// benchRound calls the functions in turns, so that a disturbance affects all of them.
func benchRound(b hitBench) (found [benchFunctions]figures, err error) {
	var cpu, wall, pairs [benchFunctions][]time.Duration
	for i := range roundBatches {
		for f := range benchFunctions {
			took, err := b.run(f, batchCalls[f])
			if err != nil {
				return found, err
			}
			cpu[f], wall[f] = append(cpu[f], took.cpu), append(wall[f], took.wall)
			pairs[f] = append(pairs[f], took.cpu-cpu[bare][i])
		}
	}
	for f := range benchFunctions {
		slices.Sort(cpu[f])
		slices.Sort(wall[f])
		slices.Sort(pairs[f])
	}
	for f := range benchFunctions {
		calls := time.Duration(batchCalls[f])
		found[f].least = spell{wall[f][0], cpu[f][0]}
		found[f].ways = [ways]time.Duration{
			byCPU:   (cpu[f][roundBatches/quietPart] - cpu[bare][roundBatches/quietPart]) / calls,
			byWall:  (wall[f][roundBatches/quietPart] - wall[bare][roundBatches/quietPart]) / calls,
			byPairs: pairs[f][roundBatches/2] / calls,
		}
	}
	return found, nil
}
