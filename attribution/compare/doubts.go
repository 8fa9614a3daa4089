package compare

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/model"
	"ipytracer/model/words"
)

// maxReasons is how many reasons why a run is not complete are told of each.
const maxReasons = 8

// doubts are what may make the runs differ besides the notebook, and what was not seen.
func (c *comparison) doubts() []string {
	out := []string{}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, one := range []struct {
		name string
		run  *Run
	}{{"A", c.a}, {"B", c.b}} {
		c.doubtsOf(one.name, one.run, add)
	}
	differ := func(what, a, b string) {
		if a != b {
			add("%s: %s in A, %s in B", what, orNone(a), orNone(b))
		}
	}
	x, y := &c.a.report, &c.b.report
	differ("Python", x.Python, y.Python)
	differ("IPython", x.IPython, y.IPython)
	differ("machine", x.Host.Name, y.Host.Name)
	differ("Linux", x.Host.Kernel, y.Host.Kernel)
	differ("CPUs", fmt.Sprint(x.Host.CPUs), fmt.Sprint(y.Host.CPUs))
	differ("memory of the machine", words.Bytes(x.Host.Memory), words.Bytes(y.Host.Memory))
	differ("GPUs", strings.Join(c.a.gpus, ", "), strings.Join(c.b.gpus, ", "))
	differ("tracer", x.Host.Tracer, y.Host.Tracer)
	differ("processes with a soft limit, set by", strings.Join(c.a.limits, ", "), strings.Join(c.b.limits, ", "))
	if len(c.a.sessions) != len(c.b.sessions) {
		add("%s in A, %s in B: they are compared in their order", words.Plural(len(c.a.sessions), "session"),
			words.Plural(len(c.b.sessions), "session"))
	}
	c.otherMeters(add)
	c.otherEndings(add)
	return out
}

func orNone(s string) string {
	if s == "" {
		return "none, or not known,"
	}
	return s
}

// doubtsOf are those about one run.
func (c *comparison) doubtsOf(name string, r *Run, add func(string, ...any)) {
	if r.report.Finished == cut {
		add("%s was cut: what came after is not known", name)
	}
	for i, why := range r.unseen {
		if i == maxReasons {
			add("%s: %s", name, words.Plural(len(r.unseen)-i, "more reason")+" why it is not complete")
			break
		}
		add("%s: %s", name, why)
	}
	if n := len(r.unnamed); n > 0 {
		add("%s: who allocated is not known in full, so lines may differ for that alone (figures do not): %s", name,
			r.unnamed[0]+more(n-1))
	}
	if r.late {
		add("%s began in a process that ran already: what it had made by then has no line", name)
	}
	if r.report.Cells == 0 {
		add("no cell ran in %s", name)
	}
	if r.bare > 0 {
		add("%s: %s without source: matched by their order only", name, words.Plural(r.bare, "cell"))
	}
	if r.left > 0 {
		add("%s: %s had no room here and are not compared", name, words.Plural(r.left, "cell"))
	}
	if r.truncatedSources > 0 {
		add("%s: the sources of %s were longer than a recording keeps: what differs behind that is not seen", name,
			words.Plural(r.truncatedSources, "cell"))
	}
	for m, id := range r.meters {
		if n := r.inexact(m); n > 0 {
			add("%s: %s is not exact in %s (marked)", name, words.Meter(id), words.Plural(n, "cell"))
		}
	}
}

// more says how many more reasons there are.
func more(n int) string {
	if n == 0 {
		return ""
	}
	return " (and " + words.Plural(n, "more reason") + ")"
}

// inexact is in how many cells a meter is not exact.
func (r *Run) inexact(meter int) (n int) {
	for i := range r.cells {
		if f := r.cells[i].figures[meter]; f != nil && !f.Exact {
			n++
		}
	}
	return n
}

// otherMeters are those of one run only.
func (c *comparison) otherMeters(add func(string, ...any)) {
	only := func(x, y *Run) (out []string) {
		for _, id := range x.meters {
			if !slices.Contains(y.meters, id) {
				out = append(out, words.Meter(id))
			}
		}
		return out
	}
	if ids := only(c.a, c.b); len(ids) > 0 {
		add("in A only: %s", strings.Join(ids, ", "))
	}
	if ids := only(c.b, c.a); len(ids) > 0 {
		add("in B only: %s", strings.Join(ids, ", "))
	}
}

// otherEndings are cells that ended in another way: what did not run to its end needed less than it would have.
func (c *comparison) otherEndings(add func(string, ...any)) {
	n := 0
	for i := range c.d.Cells {
		row := &c.d.Cells[i]
		if row.A == nil || row.B == nil || row.A.Status == row.B.Status {
			continue
		}
		if n++; n <= maxReasons {
			add("%s ended with %s in A and with %s in B", words.Row(row), row.A.Status, row.B.Status)
		}
	}
	if n > maxReasons {
		add("%s that ended in another way", words.Plural(n-maxReasons, "more cell"))
	}
}

// cut is how a recording that was cut says that it finished.
const cut = "recording cut"

// incomplete says whether a cell did not run to its end.
func incomplete(x *model.DiffCell) bool { return x != nil && x.Status != model.OK }
