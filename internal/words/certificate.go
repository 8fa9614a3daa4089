package words

import (
	"fmt"

	"ipytracer/model"
)

// Reasons why a certificate is not complete, and other losses: one for each function.

// ChangesMissing says that changes were lost, out of a total.
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

// Reasons describes each count.
func (b *Broken) Reasons() (reasons []string) {
	for _, one := range []struct {
		count uint64
		text  func(uint64) string
	}{{b.EndedAgain, EndedAgain}, {b.LowTrees, TreesTooLow}, {b.LowWindows, WindowsTooLow}} {
		if one.count > 0 {
			reasons = append(reasons, one.text(one.count))
		}
	}
	return reasons
}

// WindowsMissing says that windows had no room.
func WindowsMissing(n uint64) string {
	return Count(n) + " windows are not in this report: there were too many"
}

// leastDear is the least CPU time, in nanoseconds, that deserves a line.
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

// DearTraps says what a hit of a probe costs, in nanoseconds, on a machine where hits cost much: first where Linux
// emulates an instruction, then where Linux single-steps one. Where measurements did not agree, it says the highest.
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

func took(p *model.Probe) string {
	return fmt.Sprintf("%s hits took about %s of CPU time", Count(p.Hits), Duration(p.CostNS))
}

// MeterPaused says that a meter was stepped down.
func MeterPaused(id string) string {
	return Meter(id) + " was not counted at times, to keep the overhead budget (--budget off counts all)"
}

// CellsUnseen says that cells have no window.
func CellsUnseen(n uint64) string { return Count(n) + " cells have no window" }

// CellsInDoubt says that cells were only partly seen.
func CellsInDoubt(n uint64) string {
	return Count(n) + " cells were not seen whole: their begin, end, result or statements are in doubt"
}

// AllocationsMissing says that stacks had no room.
func AllocationsMissing(n uint64) string {
	return Count(n) + " allocations are missing from who allocated: there were too many"
}

// RefusalsMissing says that refused requests had no room.
func RefusalsMissing(n uint64) string {
	return Count(n) + " refused requests for memory are not listed: there were too many at a time"
}

// Lost describes any other loss, by its reason.
func Lost(reason string, n uint64) string { return reason + " (" + Count(n) + ")" }

// StacksPaused says that some stacks are not known.
const StacksPaused = "at times it is not known who allocated, or only from samples: " +
	"stacks were paused to keep the overhead budget"

// RecordsTwice says that records came again, which no tracer writes.
func RecordsTwice(n uint64) string { return Plural(int(min(n, 1<<40)), "record") + " came twice" }

// RecordingCut says that a recording stops before its session did.
const RecordingCut = "the recording was cut: what came after is not known"

// LeftOut counts records without room in a report: a target, or the maker of a recording, can produce any number of
// them.
type LeftOut struct {
	Processes int // events of processes beyond MaxProcesses
	Readings  int // of processes at one boundary
	Late      int // changes too late to change the windows of their segment
	Ahead     int // changes of segments that never arrive
	Waiting   int // changes that waited for their segment, and were not counted for their stacks
	Uncounted int // windows without counts of allocations
	Unpaired  int // ends of experiments without a beginning
	Children  int // of windows
	Texts     int // cut or left out
	Timeline  int // stretches of meters over time

	MaxProcesses int
}

// Reasons describes each count. First come counts that put figures or windows in doubt, then counts that concern only
// stacks, names or texts.
func (l *LeftOut) Reasons() (figures, attribution []string) {
	for _, one := range []struct {
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
		if one.count > 0 {
			*one.to = append(*one.to, fmt.Sprintf(one.text, one.count))
		}
	}
	return figures, attribution
}
