package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestPlanFollowed follows a plan: the peak of a notebook without the lines that it names is lower by the predicted
// amount. The decisive array is live at both of the two highest moments. The cell of the second moves no memory of
// NumPy's.
func TestPlanFollowed(t *testing.T) {
	together(t)
	needModules(t, "nbconvert", "nbclient")
	cells := []string{
		"import numpy as np",
		"big = np.ones(20_000_000)",
		"np.ones(25_000_000).sum()",
		"len(b'x' * 195_000_000)",
		"big = None",
	}
	before := demandIn(t, cells)
	at := slices.IndexFunc(before.Lines, func(l model.PlanLine) bool { return l.Source == cells[1] })
	if at < 0 {
		t.Fatalf("lines %+v", before.Lines)
	}
	big := &before.Lines[at]
	if big.Fall < 150<<20 || big.Then == nil || big.Then.Source != cells[2] {
		t.Errorf("without %s %d MiB lower, then %+v", big.Source, big.Fall>>20, big.Then)
	}
	set := before.Together
	if set == nil || len(set.Lines) != 3 || set.Fall < 330<<20 {
		t.Fatalf("together %+v", set)
	}
	for _, c := range []struct {
		name string
		do   func([]string)
		fall int64
	}{
		{"never made", func(cells []string) { cells[1] = "big = None" }, big.Fall},
		{"deleted before", func(cells []string) { cells[2] = "del big\n" + cells[2]; cells[4] = "" }, big.Fall},
		{"without all of them", func(cells []string) {
			for i := range cells {
				if slices.ContainsFunc(set.Lines, func(l model.PlanLine) bool { return l.Source == cells[i] }) {
					cells[i] = "pass"
				}
			}
		}, set.Fall},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			changed := slices.Clone(cells)
			c.do(changed)
			after := demandIn(t, changed)
			if fell := before.Need - after.Need; fell < c.fall*95/100 || fell > c.fall*105/100 {
				t.Errorf("it is %d KiB lower, and was to be %d KiB", fell>>10, c.fall>>10)
			}
		})
	}
}

// demandIn returns the memory that a notebook needs, by its plan.
func demandIn(t *testing.T, cells []string) *model.Demand {
	t.Helper()
	got, out := status(t, "plan", "-q", "--format", "json", recordNotebook(t, cells))
	var p model.Plan
	if err := json.Unmarshal([]byte(out), &p); err != nil || got != 0 || p.Demands[0].Meter != "cpu.resident" {
		t.Fatalf("status %d, %v\n%.2000s", got, err, out)
	}
	return &p.Demands[0]
}
