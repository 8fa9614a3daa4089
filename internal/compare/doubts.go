package compare

import (
	"slices"
	"strconv"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// maxReasons bounds the reasons that are listed for each run.
const maxReasons = 8

// doubts returns sentences about reasons, other than the notebook, why the runs may differ, and about missing parts.
func (c *comparison) doubts() []string {
	out := []string{}
	add := func(d words.Doubt) { out = append(out, d.String()) }
	c.a.doubts("A", add)
	c.b.doubts("B", add)
	differ := func(what, a, b string) {
		if a != b {
			add(words.Doubt{Kind: words.DiffersIn, Text: what, A: a, B: b})
		}
	}
	x, y := &c.a.report, &c.b.report
	differ("Python", x.Python, y.Python)
	differ("IPython", x.IPython, y.IPython)
	differ("machine", x.Host.Name, y.Host.Name)
	differ("Linux", x.Host.Kernel, y.Host.Kernel)
	differ("CPUs", strconv.Itoa(x.Host.CPUs), strconv.Itoa(y.Host.CPUs))
	differ(words.MachineMemory, words.Bytes(x.Host.Memory), words.Bytes(y.Host.Memory))
	differ("GPUs", strings.Join(c.a.gpus, ", "), strings.Join(c.b.gpus, ", "))
	differ("tracer", x.Host.Tracer, y.Host.Tracer)
	differ(words.SoftLimits, strings.Join(c.a.limits, ", "), strings.Join(c.b.limits, ", "))
	if len(c.a.sessions) != len(c.b.sessions) {
		add(words.Doubt{Kind: words.SessionCounts, Count: len(c.a.sessions), Other: len(c.b.sessions)})
	}
	c.otherMeters(add)
	c.otherEndings(add)
	return out
}

// doubts adds the doubts about one run.
func (r *Run) doubts(name string, add func(words.Doubt)) {
	addOf := func(kind words.DoubtKind, text string, count int) {
		add(words.Doubt{Kind: kind, Run: name, Text: text, Count: count})
	}
	if r.report.Finished == cut {
		addOf(words.WasCut, "", 0)
	}
	for i, why := range r.unseen {
		if i == maxReasons {
			addOf(words.MoreNotComplete, "", len(r.unseen)-i)
			break
		}
		addOf(words.NotComplete, why, 0)
	}
	if n := len(r.unnamed); n > 0 {
		addOf(words.NamesIncomplete, r.unnamed[0], n-1)
	}
	if r.late {
		addOf(words.LateLines, "", 0)
	}
	if r.report.Cells == 0 {
		addOf(words.NoCells, "", 0)
	}
	if r.withoutSource > 0 {
		addOf(words.WithoutSource, "", r.withoutSource)
	}
	if r.leftOut > 0 {
		addOf(words.CellsLeftOut, "", r.leftOut)
	}
	if r.truncatedSources > 0 {
		addOf(words.LongSources, "", r.truncatedSources)
	}
	for m, id := range r.meters {
		if n := r.inexact(m); n > 0 {
			addOf(words.NotExact, id, n)
		}
	}
}

// inexact returns the number of cells with an inexact figure of a meter.
func (r *Run) inexact(meter int) (n int) {
	for i := range r.cells {
		if f := r.cells[i].figures[meter]; f != nil && !f.Exact {
			n++
		}
	}
	return n
}

// otherMeters adds a doubt about meters that only one run has.
func (c *comparison) otherMeters(add func(words.Doubt)) {
	only := func(x, y *Run) (out []string) {
		for _, id := range x.meters {
			if !slices.Contains(y.meters, id) {
				out = append(out, words.Meter(id))
			}
		}
		return out
	}
	if ids := only(c.a.Run, c.b.Run); len(ids) > 0 {
		add(words.Doubt{Kind: words.OnlyInA, Text: strings.Join(ids, ", ")})
	}
	if ids := only(c.b.Run, c.a.Run); len(ids) > 0 {
		add(words.Doubt{Kind: words.OnlyInB, Text: strings.Join(ids, ", ")})
	}
}

// otherEndings adds a doubt for each cell that ended differently in the two runs: a cell that did not run to its end
// needed less memory than it would have.
func (c *comparison) otherEndings(add func(words.Doubt)) {
	n := 0
	for i := range c.d.Cells {
		row := &c.d.Cells[i]
		if row.A == nil || row.B == nil || row.A.Status == row.B.Status {
			continue
		}
		if n++; n <= maxReasons {
			add(words.Doubt{Kind: words.EndedOtherwise, Text: words.Row(row), A: row.A.Status, B: row.B.Status})
		}
	}
	if n > maxReasons {
		add(words.Doubt{Kind: words.MoreEndings, Count: n - maxReasons})
	}
}

// cut is the value of Finished for a recording that was cut.
const cut = "recording cut"

// incomplete reports whether a cell did not run to its end.
func incomplete(x *model.DiffCell) bool { return x != nil && x.Status != model.OK }
