package main

import (
	"cmp"
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
	// Waits is the number of waits of threads that ended, forked or executed, in the delaying program.
	Waits uint64 `json:"waits"`
	// Passed has the number of events for which the kernel did not run each copy of a program, by program.
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

func (r *Result) fail(format string, args ...any) {
	r.Right = false
	if len(r.Failures) < mostFailures {
		r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
	}
}

// judge compares the tracer's figures of a storm with the storm's own.
func judge(s *session) Result {
	l := &s.lives
	r := Result{
		Processes: s.processes, Passed: s.passed, Boundaries: len(l.numbers), BoundariesMissing: l.missing(),
		EndedTwice: l.endedTwice, NeverEnded: l.neverEnded(),
		Right: true, Complete: s.report.Certificate.Complete, Failures: []string{},
	}
	for _, c := range []struct {
		n    int
		what string
	}{
		{r.EndedTwice, "processes ended that had ended"},
		{r.NeverEnded, "processes did not end"},
		{r.BoundariesMissing, "boundaries are missing"},
		{l.twice, "boundaries came more than once"},
		{int(s.report.Certificate.BoundariesLost), "boundaries are lost, says the certificate"},
	} {
		if c.n > 0 {
			r.fail("%d %s", c.n, c.what)
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

// certified checks the certificate: nothing is missing, and every peak of the kernel is the one recomputed from the
// stream.
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

// compare puts a figure beside its truth.
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

func boundOf(f model.Figure) int64 {
	if f.Exact || f.Bound == nil {
		return 0
	}
	return *f.Bound
}

// compareProcesses compares each process's peaks, and the session's own.
func (r *Result) compareProcesses(s *session) {
	found := map[int][]*model.Process{} // one pid may have been several processes
	for i := range s.report.Processes {
		p := &s.report.Processes[i]
		found[p.PID] = append(found[p.PID], p)
	}
	root := map[string]int64{}
	top := s.top()
	for _, one := range s.highest() {
		for meter, expected := range one.truth() {
			if one.pid == top {
				root[meter] = expected
			}
			if len(found[one.pid]) != 1 {
				r.fail("pid %d is %d times in the report", one.pid, len(found[one.pid]))
				continue
			}
			f := found[one.pid][0].Meters[meter]
			r.compare(fmt.Sprintf("%s of process %d", meter, one.pid), expected, f, boundOf(f))
		}
	}
	window := s.window()
	for meter, expected := range root {
		f := window.Meters[meter]
		r.compare(meter+" of the session", expected, f, boundOf(f))
	}
}

// The meters that are compared.
var (
	resident = event.Resident.String()
	mapped   = event.Mapped.String()
)

func (p peak) truth() map[string]int64 {
	return map[string]int64{resident: p.resident, mapped: p.mapped}
}

// top returns the pid of the first process.
func (s *session) top() int {
	for _, p := range s.report.Processes {
		if p.Parent == 0 {
			return p.PID
		}
	}
	return 0
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

// highest returns the highest memory of each process in its whole life: the first one reports it in every round.
func (s *session) highest() []peak {
	most := map[int]peak{}
	for _, p := range s.peaks {
		m := most[p.pid]
		most[p.pid] = peak{pid: p.pid, resident: max(m.resident, p.resident), mapped: max(m.mapped, p.mapped)}
	}
	return slices.SortedFunc(maps.Values(most), func(a, b peak) int { return cmp.Compare(a.pid, b.pid) })
}

// tree returns the memory of the processes of a round together when all were at their highest, in the round with the
// most. Memory that a forked process has from its parent counts once, with the parent.
func (s *session) tree() map[string]int64 {
	type sum struct{ resident, mapped int64 }
	rounds := map[int]sum{}
	for _, p := range s.peaks {
		r, born := rounds[p.round], s.lives.born[int32(p.pid)]
		rounds[p.round] = sum{r.resident + p.resident - int64(born[event.Resident]),
			r.mapped + p.mapped - int64(born[event.Mapped])}
	}
	most := map[string]int64{}
	for _, r := range rounds {
		most[resident], most[mapped] = max(most[resident], r.resident), max(most[mapped], r.mapped)
	}
	return most
}

// compareTree compares the memory of all processes together.
func (r *Result) compareTree(s *session) {
	bounds := map[string]int64{}
	for _, p := range s.report.Processes {
		for _, meter := range []string{resident, mapped} {
			bounds[meter] += boundOf(p.Meters[meter])
		}
	}
	for meter, expected := range s.tree() {
		f, _ := s.window().Together(meter)
		r.compare(meter+" of the tree", expected, f, bounds[meter])
	}
}
