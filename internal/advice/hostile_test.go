package advice

import (
	"fmt"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestHostileSources: sources that would make a rule look at the same nodes for ever are given up, and get no advice.
func TestHostileSources(t *testing.T) {
	names := "a0 = np.ones(5_242_880)\n"
	for i := range 60 {
		names += fmt.Sprintf("a%d = a%d * a%d + a%d * a%d\n", i+1, i, i, i, i)
	}
	var lines []line
	for i := range strings.Count(names, "\n") {
		lines = append(lines, line{i + 1, 0, 0, nil})
	}
	for _, of := range []struct {
		name string
		last string
	}{
		{"names that lead to names", "z = np.exp(a60 - a59)"},
		{"a long chain of operators", "z = np.exp(x" + strings.Repeat(" - x", 20_000) + ")"},
		{"a long chain of methods", "x = x" + strings.Repeat(".copy().astype(y)", 5_000) + " * x"},
		{"a long formula", "z = x * y" + strings.Repeat(" + x * y", 20_000)},
		{"a long chain of differences", "z = (x[:, None] - y" + strings.Repeat(" - y", 20_000) + ").sum(-1)"},
		{"many sums in each other",
			"z = " + strings.Repeat("(a60 - ", 3_000) + "a59" + strings.Repeat(").sum(-1)", 3_000)},
		{"a long chain of attributes", "x = x * x" + strings.Repeat(".T.x", 20_000)},
	} {
		t.Run(of.name, func(t *testing.T) {
			n := session(t, both(ndarray("z", "float64", 5*mebi)), setup, ran{names, lines},
				ran{of.last, []line{peaks(1, 80, 40)}})
			checkArrays(t, n, "", 0, "")
		})
	}
}

// loop makes 20 parts of 4 MiB in a list.
var loop = ran{"import numpy as np\nparts = []\nfor i in range(20):\n    parts.append(np.ones(524_288) * i)",
	[]line{{1, 1, 1, nil}, {2, 0, 0, nil}, {3, 80, 80, []arrayBlocks{{made: 80, kept: 80, live: 80, count: 20}}}}}

// TestHostileFigures: figures of a recording that cannot be do not make a rule fail.
func TestHostileFigures(t *testing.T) {
	views := ndarray("x", "float64", -1, 1<<62)
	views.ViewBytes, views.BaseBytes = -1, 1<<62
	for _, v := range []model.Variable{ndarray("x", "float64", -5, 3), ndarray("x", "float64", 1<<62, 1<<62),
		ndarray("x", "object"), views, fitting(ndarray("x", "int64", 1<<62, 8), "int8", "NaN", "")} {
		for _, source := range []string{"x = np.exp(x - 1)", "x = np.stack(parts)", "x = x[0]", "x = np.zeros(3)"} {
			n := session(t, []model.Variable{v}, setup, loop, ran{source, []line{peaks(1, 80, 40)}})
			for _, c := range arrays(n) {
				if saved := n.Saves(c.Falls); saved < 0 || saved > n.Peak.Peak {
					t.Errorf("%s of %+v saves %d", source, v, saved)
				}
			}
		}
	}
}
