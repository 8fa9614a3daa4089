package words

import (
	"fmt"
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// The functions below return reasons why a certificate is not complete, and other losses, in words.

// ChangesMissing says that changes were lost, out of all.
func ChangesMissing(missing, all uint64) string {
	return fmt.Sprintf("%s of %s changes did not reach this report: peaks stand, the kernel itself keeps them; "+
		"part of their proof is missing, and of who allocated",
		Count(missing), Count(all))
}

// BoundariesMissing says that boundaries were lost, which must not happen.
func BoundariesMissing(n uint64) string {
	return Count(n) + " boundaries are missing: this is a defect of ipytracer, please report it"
}

// EndedAgain returns the reason that processes were reported ended twice.
func EndedAgain(n uint64) string {
	return Count(n) + " processes were reported ended twice: what such a process had at its highest may be missing; " +
		"this is a defect of ipytracer, please report it"
}

// TreesTooLow returns the reason that a process had higher maxima than the sum of its tree.
func TreesTooLow(n uint64) string {
	return "in " + Count(n) + " places a process exceeded the total of its process tree: peaks of the tree are too " +
		"low; this is a defect of ipytracer, please report it"
}

// WindowsTooLow says that windows are lower than the windows inside them.
func WindowsTooLow(n uint64) string {
	return Count(n) + " windows are lower than a window or process in them: their peaks are too low; " +
		"this is a defect of ipytracer, please report it"
}

// Broken counts the invariants of sessions that did not hold.
type Broken struct {
	EndedAgain uint64 // ends of processes that had ended before
	LowTrees   uint64 // maxima of a process that its tree did not reach
	LowWindows uint64 // windows lower than one inside them, and sessions lower than their process
}

// Reasons returns a text for each count that is not 0.
func (b *Broken) Reasons() (reasons []string) {
	for _, invariant := range []struct {
		count uint64
		text  func(uint64) string
	}{{b.EndedAgain, EndedAgain}, {b.LowTrees, TreesTooLow}, {b.LowWindows, WindowsTooLow}} {
		if invariant.count > 0 {
			reasons = append(reasons, invariant.text(invariant.count))
		}
	}
	return reasons
}

// WindowsMissing says that windows are not in the report.
func WindowsMissing(n uint64) string {
	return Count(n) + " windows are not in this report: there were too many"
}

// leastDear is the least CPU time of a probe, in nanoseconds, that is worth a warning: 10 ms.
const leastDear = 10_000_000

// ExpensiveProbes returns the warning that probes cost more than usual, at their place or on this machine; "" if the
// cost was negligible.
func ExpensiveProbes(p *model.Probe) string {
	switch {
	case p.Dear == "" || p.CostNS < leastDear:
		return ""
	case p.DearMachine:
		return fmt.Sprintf("%s: %s: %s", p.Dear, p.Name, took(p))
	}
	return fmt.Sprintf("%s (%s): %s", eachTraced, p.Dear, took(p))
}

// DearTraps says what a hit of a probe costs on a machine where hits cost much, in nanoseconds: emulated, if Linux
// emulates the instruction, and stepped, if Linux single-steps it. disagree says that measurements differed, and that
// these are the highest.
func DearTraps(emulated, stepped int64, disagree bool) string {
	text := fmt.Sprintf("a hit of a probe is dear on this machine, %.2f µs, and single-stepped %.1f µs",
		float64(emulated)/1e3, float64(stepped)/1e3)
	if disagree {
		text += ", the highest of measurements that do not agree"
	}
	return text
}

// ExpensiveProbesSoFar is [ExpensiveProbes] for a session that still runs. A notebook shows the text. It leaves out why
// the place costs more than usual, because that may concern another user's files.
func ExpensiveProbesSoFar(p *model.Probe) string {
	switch {
	case p.DearMachine:
		return ExpensiveProbes(p)
	case p.Dear == "" || p.CostNS < leastDear:
		return ""
	}
	return fmt.Sprintf("%s: %s so far; the report says why", eachTraced, took(p))
}

const eachTraced = "each array and each scalar is traced, which slows code down that makes many"

// took returns "1,234 hits took about 12 ms of CPU time".
func took(p *model.Probe) string {
	return fmt.Sprintf("%s hits took about %s of CPU time", Count(p.Hits), Duration(p.CostNS))
}

// MeterPaused says that a meter was paused.
func MeterPaused(id string) string {
	return Meter(id) + " was not counted at times, to keep the overhead budget (--budget off counts all)"
}

// CellsUnseen says that cells have no window.
func CellsUnseen(n uint64) string { return Count(n) + " cells have no window" }

// CellsInDoubt says that cells were only partly seen.
func CellsInDoubt(n uint64) string {
	return Count(n) + " cells were not seen whole: their begin, end, result or statements are in doubt"
}

// AllocationsMissing says that allocations are not in the lists of who allocated.
func AllocationsMissing(n uint64) string {
	return Count(n) + " allocations are missing from who allocated: there were too many"
}

// RefusalsMissing says that refused requests for memory are not listed.
func RefusalsMissing(n uint64) string {
	return Count(n) + " refused requests for memory are not listed: there were too many at a time"
}

// Lost describes any other loss, by its reason.
func Lost(reason string, n uint64) string { return reason + " (" + Count(n) + ")" }

// ArraysCounted says that a process has counted small arrays itself.
const ArraysCounted = "arrays below 64 KiB are counted in the process itself, from when its meter's accuracy is " +
	`"counted". Of those from 1 KiB on, samples have lines; smaller ones have none`

// TensorsCounted says that a process has counted small tensors itself.
const TensorsCounted = "tensors below 64 KiB on the CPU are counted in the process itself, from when its meter's " +
	`accuracy is "counted". Samples of them have lines`

// HeapCounted says that a process has counted malloc's blocks itself.
const HeapCounted = "malloc's blocks are counted in the process itself, where its meter's accuracy is \"counted\"; " +
	"of those below 64 KiB it is not known which lines made them"

// Counted says that a process has counted blocks itself. g stands for their stacks.
func Counted(g event.Group) string {
	switch g {
	case event.CountedHeap:
		return HeapCounted
	case event.CountedTensors:
		return TensorsCounted
	}
	return ArraysCounted
}

// CountedSource returns what is added to the source of a meter's figures then. counted are the groups of stacks that
// are not known for that reason.
func CountedSource(m event.Meter, counted []event.Group) string {
	switch {
	case m == event.NumPy && slices.Contains(counted, event.CountedArrays):
		return "; arrays below 64 KiB counted in the process, bounded by what Linux counts"
	case m == event.Torch && slices.Contains(counted, event.CountedTensors):
		return "; tensors below 64 KiB counted in the process, bounded by what Linux counts"
	case m == event.Heap && slices.Contains(counted, event.CountedHeap):
		return "; counted in the process, bounded by what Linux counts, where the accuracy is \"counted\""
	}
	return ""
}

// StacksPaused says that some stacks are not known, because stacks were paused.
const StacksPaused = "at times it is not known who allocated, or only from samples: " +
	"stacks were paused to keep the overhead budget"

// RecordsTwice says that a recording has records twice, which no tracer writes.
func RecordsTwice(n uint64) string { return Plural(int(min(n, 1<<40)), "record") + " came twice" }

// RecordingCut says that a recording stops before its session did.
const RecordingCut = "the recording was cut: what came after is not known"

// LeftOut counts what a report has no room for. A target, or the maker of a recording, can produce any number of these.
type LeftOut struct {
	Processes int // events of processes beyond MaxProcesses
	Readings  int // readings of processes beyond the most at one boundary
	Late      int // changes that came too late to count for the windows of their segment
	Ahead     int // changes of segments that are too far ahead
	Waiting   int // changes that waited for their segment, and do not count for their stacks
	Uncounted int // windows without counts of allocations
	Unpaired  int // experiments, because too many were open
	Children  int // children of windows
	Texts     int // texts that were cut or left out
	Timeline  int // stretches of meters over time

	MaxProcesses int
}

// Reasons returns a text for each count that is not 0: in figures if it puts figures or windows in doubt, in
// attribution if it concerns only stacks, names or texts.
func (l *LeftOut) Reasons() (figures, attribution []string) {
	for _, kind := range []struct {
		count int
		text  string
		to    *[]string
	}{
		{
			l.Processes,
			"%d events are of processes that are not in this report: " +
				"there were more than " + fmt.Sprint(l.MaxProcesses),
			&figures,
		},
		{l.Readings, "%d readings of processes were left out: a boundary had too many", &figures},
		{l.Late, "%d changes came too late to be counted to their windows", &figures},
		{l.Ahead, "%d changes are of segments that are too far ahead", &figures},
		{l.Waiting, "%d changes are missing from who allocated: too many waited for their windows", &attribution},
		{l.Uncounted, "who allocated was not counted in %d windows: too many were open at once", &attribution},
		{l.Unpaired, "%d experiments are not in this report: too many were open at once", &figures},
		{l.Children, "%d times a child process is missing from a window's children: there were too many", &figures},
		{l.Timeline, "%d stretches of meters are missing from the timeline: there were too many points", &figures},
		{l.Texts, "%d texts were cut or left out: there was too much text", &attribution},
	} {
		if kind.count > 0 {
			*kind.to = append(*kind.to, fmt.Sprintf(kind.text, kind.count))
		}
	}
	return figures, attribution
}
