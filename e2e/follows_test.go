package e2e

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestDiffByCause edits one line of a notebook. The cells that read its results are listed with it, each with the name
// that it reads, and no others are.
func TestDiffByCause(t *testing.T) {
	together(t)
	needModules(t, "nbconvert", "nbclient")
	before := []string{
		"import numpy as np",
		"rates = np.ones(1_000_000)\norders = np.ones(31_000_000)",
		"def scale(x):\n    return x * 2",
		"scaled = scale(orders)",
		"rates.sum()",
		"np.sort(scaled)[-1]",
		"del scaled, orders",
	}
	after := slices.Clone(before)
	after[1] = "rates = np.ones(1_000_000)\norders = np.ones(9_000_000)"
	a, b := recordNotebook(t, before), recordNotebook(t, after)
	d := diffOf(t, a, b)
	const less = 22_000_000 * 8
	if len(d.Causes) != 1 || d.Causes[0].Cell != 1 || d.Causes[0].Bytes > -less*98/100 ||
		d.Causes[0].Bytes < -less*102/100 {
		t.Fatalf("causes %+v", d.Causes)
	}
	if e := d.Cells[1].Edits; !slices.Equal(e, []model.Edit{{A: 2, LinesA: 1, B: 2, LinesB: 1}}) {
		t.Errorf("edits %+v", e)
	}
	want := map[int]string{
		6: " less: it lets go of orders, made in In[2], edited in line 2",
		3: "it reads orders, made in In[2], edited in line 2",
		5: "it reads scaled, made in In[4], which reads orders, made in In[2], edited in line 2",
	}
	for _, f := range d.Causes[0].Follows {
		if why, ok := want[f.Cell]; ok && (f.Cell != 6 && (f.Bytes > -less*98/100 || f.Bytes < -less*102/100) ||
			!strings.HasSuffix(f.Why, why)) {
			t.Errorf("%+v, want %q", f, why)
		}
		if f.Cell == 0 || f.Cell == 2 || f.Cell == 4 {
			t.Errorf("%s reads nothing of it: %+v", d.Cells[f.Cell].B.Source, f)
		}
		delete(want, f.Cell)
	}
	if len(want) > 0 {
		t.Errorf("not named: %v of %+v", want, d.Causes[0].Follows)
	}
	for _, format := range []string{"text", "markdown", "html", "json"} {
		if _, out := status(t, "diff", "-q", a, b, "--format", format); !strings.Contains(out,
			"it reads orders, made in In[2], edited in line 2") {
			t.Errorf("%s:\n%.3000s", format, out)
		}
		if _, out := status(t, "diff", "-q", a, b, "--no-source", "--format", format); strings.Contains(out,
			"orders") || !strings.Contains(out, "edited in line 2") {
			t.Errorf("%s without source:\n%.3000s", format, out)
		}
	}
}
