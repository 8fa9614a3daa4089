package kept

import (
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/freeing"
	"ipytracer/model"
	"ipytracer/model/words"
)

// tracebacks finds memory that only the frames of the cell that failed last keep.
func tracebacks(n *evidence.Notebook) []evidence.Candidate {
	var v *model.Variable
	for i := range n.Variables {
		if n.Variables[i].Kind == "traceback" && n.Variables[i].Size() >= least {
			v = &n.Variables[i]
		}
	}
	var failed *evidence.Cell
	for _, c := range n.Cells {
		if c.Window.Status == model.Error {
			failed = c
		}
	}
	if v == nil || failed == nil || failed.Window.ExecutionCount == nil || len(failed.Statements) == 0 {
		return nil
	}
	number := *failed.Window.ExecutionCount
	if v.Name != "traceback of "+words.In(number) && strings.Contains(v.Name, "In[") {
		return nil
	}
	s := failed.Statements[len(failed.Statements)-1]
	c := candidate("traceback", failed, s.Line)
	var ok bool
	if c.Edits, ok = n.InsertBefore(failed.Index+1, strings.TrimSuffix(freeing.LastErrorGone, ";")); !ok {
		return nil
	}
	size := v.Size()
	for i := range n.Variables { // names that have some of it, too
		other := &n.Variables[i]
		if other.Kind == "variable" && at(n.CellOf(other.Execution), other.Line) == s {
			size -= other.Size()
		}
	}
	of := func(site *evidence.Site) bool { return site.Statement == s }
	c.Falls = func(m *evidence.Moment) int64 {
		if m.Order <= failed.Last {
			return 0
		}
		return max(0, min(size, n.Resident(m, of)))
	}
	c.Title = words.TracebackKept(number, size)
	c.Changes = []string{words.TracebackGone()}
	c.Of = v.Name
	return []evidence.Candidate{c}
}
