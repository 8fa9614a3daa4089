package e2e

import (
	"strings"
	"testing"

	"ipytracer/model"
)

// shellCells are the cells of the catalogue that depend on the front end more than on the interpreter. The report has
// their input, the lines of statements are those of the input, and memory that IPython's events allocate after a cell's
// code counts for the cell, however it ended. Where the whole catalogue runs, they run, too.
var shellCells = []string{
	"hooks_registered", "hooks_only", "hooks_below", "hooks_comment", "hooks_awaited", "hooks_nested", "hooks_failed",
	"hooks_syntax", "hooks_interrupted", "hooks_silent", "hooks_that_fail", "hooks_mended", "hooks_gone",
	"pass_after_hooks",
	"source_shifted", "source_whole", "source_latin", "source_wide", "source_astral", "source_long", "source_long_wide",
	"capture_magic",
	"nested_run_cell", "bash_magic", "run_magic", "silent", "pass_after_sources",
}

var oldestAndNewest = [][2]string{{"bullseye", "/usr/bin/python3.9"}, {"trixie", "/usr/bin/python3.13"},
	{"sid", "/usr/bin/python3.14"}, {"sid", "/usr/bin/python3.15"}}

// TestSimplePrompt: a terminal without prompt_toolkit has its prompt in PyOS_Readline. The first cell comes from a
// prompt that began before the attach: it ends at its result, and says so.
func TestSimplePrompt(t *testing.T) {
	together(t)
	onPythons(t, "run_terminal.py", oldestAndNewest, func(t *testing.T, p place) {
		p.extra = []string{"--simple-prompt"}
		w := startWorkload(t, p, []string{"pass_first", "gil_spike", "await_last", "heavy_repr", "interrupted",
			"pass_after_interrupt"})
		tr := attach(t, w.pid, "--budget", "off")
		results := w.run()
		r, _ := tr.stop()
		cells := topCells(r, w.pid)
		if len(cells) != len(results) || len(cells) < 5 {
			t.Fatalf("%d cells ran, %d windows", len(results), len(cells))
		}
		for i, c := range cells {
			rows := 0
			for _, w := range r.Windows {
				if w.Parent == c.ID && w.Name == model.Hooks {
					rows++
				}
			}
			awaited := strings.Contains(c.Source, "await ")
			if c.Status != results[i].Status || (c.Note != "") != (i == 0) || (rows == 0) != (i == 0) && !awaited {
				t.Errorf("%s: %s %q, %d rows of hooks", results[i].Name, c.Status, c.Note, rows)
			}
		}
		checkCertificate(t, r)
	})
}
