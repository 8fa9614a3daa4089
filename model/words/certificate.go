package words

import (
	"fmt"

	"ipytracer/model"
)

// Why a certificate is not complete, and what else there was: each says one thing.

// ChangesMissing is of changes that did not come, of all.
func ChangesMissing(missing, all uint64) string {
	return fmt.Sprintf("%s of %s changes did not reach this report: peaks stand, the kernel itself keeps them; part of their proof is missing, and of who allocated",
		Count(missing), Count(all))
}

// BoundariesMissing is of boundaries, which cannot be lost.
func BoundariesMissing(n uint64) string {
	return Count(n) + " boundaries are missing: this is a defect of ipytracer, please report it"
}

// EndedAgain is of processes that ended and had ended.
func EndedAgain(n uint64) string {
	return Count(n) + " ends are of processes that had ended: what such a process had at its highest may be missing; this is a defect of ipytracer, please report it"
}

// TreesTooLow is of maxima that a process had, and the sum of its tree had not.
func TreesTooLow(n uint64) string {
	return Count(n) + " times a process had more than its tree all together: peaks of the tree are too low; this is a defect of ipytracer, please report it"
}

// WindowsTooLow is of windows that are lower than what is in them.
func WindowsTooLow(n uint64) string {
	return Count(n) + " windows are lower than a window or process in them: their peaks are too low; this is a defect of ipytracer, please report it"
}

// WindowsMissing is of windows that had no room.
func WindowsMissing(n uint64) string {
	return Count(n) + " windows are not in this report: there were too many"
}

// leastDear is how much CPU time is worth a line, in nanoseconds.
const leastDear = 10_000_000

// DearProbes is of probes at a dearer place than there might be; "" where that took next to nothing.
func DearProbes(p *model.Probe) string {
	if p.Dear == "" || p.CostNS < leastDear {
		return ""
	}
	return fmt.Sprintf("%s (%s): %s", eachTraced, p.Dear, took(p))
}

// DearProbesSoFar is the same of a session that runs, for a notebook: why is left out, since it may be about another one's files.
func DearProbesSoFar(p *model.Probe) string {
	if p.Dear == "" || p.CostNS < leastDear {
		return ""
	}
	return fmt.Sprintf("%s: %s so far; the report says why", eachTraced, took(p))
}

const eachTraced = "each array and each scalar is traced, which slows code down that makes many"

func took(p *model.Probe) string {
	return fmt.Sprintf("%s hits took about %s of CPU time", Count(p.Hits), Duration(p.CostNS))
}

// MeterPaused is of a meter that was stepped down.
func MeterPaused(id string) string {
	return Meter(id) + " was not counted at times, to keep the overhead budget (--budget off counts all)"
}

// CellsUnseen is of cells without a window.
func CellsUnseen(n uint64) string { return Count(n) + " cells have no window" }

// CellsInDoubt is of cells that were seen in part.
func CellsInDoubt(n uint64) string {
	return Count(n) + " cells were not seen whole: their begin, end, result or statements are in doubt"
}

// AllocationsMissing is of stacks that had no room.
func AllocationsMissing(n uint64) string {
	return Count(n) + " allocations are missing from who allocated: there were too many"
}

// RefusalsMissing is of refused requests that had no room.
func RefusalsMissing(n uint64) string {
	return Count(n) + " refused requests for memory are not listed: there were too many at a time"
}

// Lost is of anything else, for a reason.
func Lost(reason string, n uint64) string { return reason + " (" + Count(n) + ")" }

// StacksShed says that some stacks are not known.
const StacksShed = "who allocated is not known at times, or only from samples: stacks were stepped down to keep the overhead budget"

// Unseen is of a process whose IPython has cells that no window stands for, and the probes that should have said so.
func Unseen(pid int, cells, probes string) string {
	return fmt.Sprintf("pid %d: IPython has %s, which no window stands for: not compiled, or not seen to begin; the probes on %s are in doubt", pid, cells, probes)
}

// RecordingCut is of a recording that stops before its session did.
const RecordingCut = "the recording was cut: what came after is not known"

// Amiss is what there is with cells of a process, and the probes that should have told: said of one cell, or of several.
func Amiss(pid, n int, one, several, probes string) string {
	if n == 1 {
		return fmt.Sprintf("pid %d: a cell %s; the probes on %s are in doubt", pid, one, probes)
	}
	return fmt.Sprintf("pid %d: %d cells %s; the probes on %s are in doubt", pid, n, several, probes)
}

// NotBegun is of an experiment that ends and did not begin.
func NotBegun(name string, pid int) string {
	return fmt.Sprintf("experiment %q ended in pid %d, but had not begun", name, pid)
}

// LeftOut counts what had no room in a report: a target can make anything without end, and so can whoever made a recording.
type LeftOut struct {
	Processes int // events of processes beyond MaxProcesses
	Readings  int // of processes at one boundary
	Late      int // changes that came so long after their segment that its windows are not to be changed any more
	Ahead     int // changes of segments that do not come
	Waiting   int // changes that waited for their segment, and were not counted to who allocated
	Uncounted int // windows in which it was not counted who allocates
	Unpaired  int // experiments that were not opened
	Children  int // of windows
	Texts     int // that were cut or left out
	Timeline  int // stretches of meters over time

	MaxProcesses int
}

// Reasons says each: those for which figures or windows are in doubt or missing, and those for which only who allocated, names or texts are.
func (l *LeftOut) Reasons() (figures, attribution []string) {
	for _, one := range []struct {
		count int
		text  string
		to    *[]string
	}{
		{l.Processes, "%d events are of processes that are not in this report: there were more than " + fmt.Sprint(l.MaxProcesses), &figures},
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
