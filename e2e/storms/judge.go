package main

import (
	"fmt"
	"maps"
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// Result has the tracer's figures of one storm.
type Result struct {
	Storm     string `json:"storm"`
	Aligned   bool   `json:"aligned"`
	Processes int    `json:"processes"`
	// Waits is how often threads that ended, forked or executed a program waited in the delaying program.
	Waits uint64 `json:"waits"`
	// Passed has, by program, the number of events for which Linux did not run each copy of the program.
	Passed            map[string][]uint64 `json:"passed"`
	Boundaries        int                 `json:"boundaries"`
	BoundariesMissing int                 `json:"boundaries_missing"`
	EndedTwice        int                 `json:"ended_twice"`
	NeverEnded        int                 `json:"never_ended"`
	Figures           int                 `json:"figures"`
	Equal             int                 `json:"equal"`
	Wrong             int                 `json:"wrong"` // by more than their bound
	Worst             int64               `json:"worst"` // bytes, of all differences
	Complete          bool                `json:"complete"`
	Seconds           float64             `json:"seconds"`
	Right             bool                `json:"right"`
	Failures          []string            `json:"failures"` // the first ones
}

// mostFailures is the most sentences of a result.
const mostFailures = 10

// fail says that the figures are wrong, and why.
func (r *Result) fail(format string, args ...any) {
	r.Right = false
	if len(r.Failures) < mostFailures {
		r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
	}
}

// judge compares the tracer's figures of a storm with the storm's own.
func judge(s *session) Result {
	l := s.lives
	r := Result{
		Processes: s.processes, Passed: s.passed, Boundaries: len(l.numbers), BoundariesMissing: l.missing(),
		EndedTwice: l.endedTwice, NeverEnded: l.neverEnded(),
		Right: true, Complete: s.report.Certificate.Complete, Failures: []string{},
	}
	for _, wrong := range []struct {
		count int
		what  string
	}{
		{r.EndedTwice, "processes ended that had ended"},
		{r.NeverEnded, "processes did not end"},
		{r.BoundariesMissing, "boundaries are missing"},
		{l.twice, "boundaries came more than once"},
		{int(s.report.Certificate.BoundariesLost), "boundaries are lost, says the certificate"},
	} {
		if wrong.count > 0 {
			r.fail("%d %s", wrong.count, wrong.what)
		}
	}
	if l.began != s.processes {
		r.fail("%d processes began, of %d", l.began, s.processes)
	}
	r.certified(&s.report.Certificate)
	r.compareProcesses(s)
	r.compareTree(s)
	return r
}

// certified checks that the certificate is complete, and that every peak agrees with the one recomputed from the
// changes.
func (r *Result) certified(c *model.Certificate) {
	for _, reason := range c.Incomplete {
		r.fail("the certificate is incomplete: %s", reason)
	}
	for _, p := range c.Problems {
		r.fail("the certificate has a problem: %s", p)
	}
	if !c.Complete && len(c.Incomplete) == 0 {
		r.fail("the certificate is incomplete")
	}
	for _, p := range c.Meters {
		if p.Agreed != p.Compared || p.Skipped > 0 {
			r.fail("%s: the peaks of %d of %d windows differ from the recomputed ones, by up to %d bytes; "+
				"%d were not compared",
				p.ID, p.Compared-p.Agreed, p.Compared, p.Difference, p.Skipped)
		}
	}
}

// compare compares the peak of a figure with the known one. It fails if they differ by more than bound.
func (r *Result) compare(what string, expected int64, f model.Figure, bound int64) {
	r.Figures++
	off := f.Peak - expected
	if max(off, -off) > max(r.Worst, -r.Worst) {
		r.Worst = off
	}
	switch {
	case off == 0:
		r.Equal++
	case max(off, -off) > bound:
		r.Wrong++
		r.fail("%s: %d bytes, found %d, difference %+d", what, expected, f.Peak, off)
	}
}

// boundOf returns the bound of a figure, in bytes; 0 if it is exact.
func boundOf(f model.Figure) int64 {
	if f.Exact || f.Bound == nil {
		return 0
	}
	return *f.Bound
}

// meters are the meters that are compared.
var meters = [...]event.Meter{event.Resident, event.Mapped}

// amounts are bytes, by [meters].
type amounts [len(meters)]int64

// compareProcesses compares each process's peaks, and the session's own.
func (r *Result) compareProcesses(s *session) {
	found := map[int][]*model.Process{} // one pid may have been several processes
	top := 0                            // the pid of the first process
	for i := range s.report.Processes {
		p := &s.report.Processes[i]
		found[p.PID] = append(found[p.PID], p)
		if p.Parent == 0 && top == 0 {
			top = p.PID
		}
	}
	highest := s.highest()
	for _, pid := range slices.Sorted(maps.Keys(highest)) {
		if len(found[pid]) != 1 {
			r.fail("pid %d is %d times in the report", pid, len(found[pid]))
			continue
		}
		for i, meter := range meters {
			f := found[pid][0].Meters[meter.String()]
			r.compare(fmt.Sprintf("%s of process %d", meter, pid), highest[pid][i], f, boundOf(f))
		}
	}
	for i, meter := range meters {
		f := s.window().Meters[meter.String()]
		r.compare(meter.String()+" of the session", highest[top][i], f, boundOf(f))
	}
}

// window returns the session's own window.
func (s *session) window() *model.Window {
	for i := range s.report.Windows {
		if w := &s.report.Windows[i]; w.Kind == model.Session {
			return w
		}
	}
	return &model.Window{}
}

// highest returns the highest memory of each process in its whole life, by pid. The first process reports its own in
// every round, so the largest counts.
func (s *session) highest() map[int]amounts {
	most := map[int]amounts{}
	for _, p := range s.peaks {
		most[p.pid] = highestOf(most[p.pid], p.held)
	}
	return most
}

// highestOf returns the larger amount of each meter.
func highestOf(a, b amounts) amounts {
	for i := range a {
		a[i] = max(a[i], b[i])
	}
	return a
}

// tree returns the highest memory of all processes together: in each round, all processes are at their highest at the
// same time. Memory that a forked process shares with its parent counts once, with the parent. What it copies of that
// counts, too: at most so much more.
func (s *session) tree() (least, most amounts) {
	rounds, copied := map[int]amounts{}, map[int]int64{}
	for i := range s.report.Processes {
		if p := &s.report.Processes[i]; p.Parent != 0 {
			copied[p.PID] += p.Meters[event.Copied.String()].Peak
		}
	}
	copies := map[int]int64{}
	for _, p := range s.peaks {
		sum, born := rounds[p.round], s.lives.born[int32(p.pid)]
		for i, meter := range meters {
			sum[i] += p.held[i] - int64(born[meter])
		}
		rounds[p.round] = sum
		copies[p.round] += copied[p.pid]
	}
	for round, sum := range rounds {
		least = highestOf(least, sum)
		for i, meter := range meters {
			if meter == event.Resident {
				sum[i] += copies[round]
			}
		}
		most = highestOf(most, sum)
	}
	return least, most
}

// compareTree compares the memory of all processes together.
func (r *Result) compareTree(s *session) {
	least, most := s.tree()
	for i, meter := range meters {
		bound := int64(0)
		for _, p := range s.report.Processes {
			bound += boundOf(p.Meters[meter.String()])
		}
		f, _ := s.window().Together(meter.String())
		r.compare(meter.String()+" of the tree", min(max(f.Peak, least[i]), most[i]), f, bound)
	}
}
