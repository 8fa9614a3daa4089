package text_test

import (
	"strings"
	"testing"

	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// TestContainerLine: a report has one line about a container with a limit. It names the cell with the highest use
// that is certain, and what its memory was at the cell's end.
func TestContainerLine(t *testing.T) {
	parts := &model.ContainerParts{Anon: 600 * mib, File: 300 * mib, Shmem: mib, Kernel: 40 * mib}
	exactly := func(most, limit int64) *model.Container {
		return &model.Container{AtLeast: most * mib, Highest: most * mib, Exact: true, Bound: mib / 2,
			Limit: limit * mib, End: 950 * mib, Parts: parts}
	}
	between := func(least, most int64) *model.Container {
		return &model.Container{AtLeast: least * mib, Highest: most * mib, Bound: mib / 2, Limit: 1000 * mib}
	}
	const of = "; at its end 600.00 MiB anonymous, 40.00 MiB of Linux itself, 300.00 MiB page cache, " +
		"which Linux can drop"
	for name, tt := range map[string]struct {
		session, first, second *model.Container // of the session and its two cells
		want                   string
	}{
		"not known": {nil, nil, nil, ""},
		"a limit": {
			exactly(990, 1000), between(500, 700), exactly(990, 1000),
			"990.00 of 1000.00 MiB (99 %) at its highest, in In[2]" + of,
		},
		"not known, as it was higher": {
			between(700, 900), between(500, 900), between(700, 900),
			"at least 700.00 MiB and at most 900.00 of 1000.00 MiB, in In[2]",
		},
		"no limit": {exactly(700, 0), exactly(700, 0), exactly(200, 0), ""},
		"outside of the cells": {
			exactly(990, 1000), between(500, 700), exactly(800, 1000),
			"990.00 of 1000.00 MiB (99 %) at its highest, when no cell ran",
		},
		"hardly higher in a later cell": {
			exactly(705, 1000), exactly(700, 1000), exactly(705, 1000),
			"700.00 of 1000.00 MiB (70 %) at its highest, in In[1]" + of,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := small(400 * mib)
			r.Windows[0].Container, r.Windows[1].Container, r.Windows[2].Container = tt.session, tt.first, tt.second
			if got := lines(t, r, text.Options{})["container"]; got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestContainerInTheCertificate: the full report says how sure the container's figures are.
func TestContainerInTheCertificate(t *testing.T) {
	r := small(400 * mib)
	r.Windows[0].Container = &model.Container{AtLeast: 5, Highest: 9, Bound: mib / 2}
	r.Windows[1].Container = &model.Container{AtLeast: 9, Highest: 9, Exact: true, Bound: mib / 2}
	const want = "its highest is Linux's own figure in 1 of 2 windows, within 512.00 KiB; a range in the others"
	if out := printed(t, r, text.Options{Full: true, Width: -1}); !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
}
