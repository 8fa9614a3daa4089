package e2e

import (
	"testing"
)

var hookCells = []string{
	"hooks_registered", "hooks_only", "hooks_below", "hooks_comment", "hooks_awaited", "hooks_nested", "hooks_failed",
	"hooks_syntax", "hooks_interrupted", "hooks_silent", "hooks_that_fail", "hooks_mended", "hooks_gone", "pass_after_hooks",
}

var oldestAndNewest = [][2]string{{"bullseye", "/usr/bin/python3.9"}, {"trixie", "/usr/bin/python3.13"}, {"sid", "/usr/bin/python3.14"}, {"sid", "/usr/bin/python3.15"}}

var sourceCells = []string{
	"source_shifted", "source_whole", "source_latin", "source_wide", "source_astral", "source_long", "source_long_wide", "capture_magic",
	"nested_run_cell", "bash_magic", "run_magic", "silent", "pass_after_sources",
}

// TestSources: the report has what was typed, and the lines of statements are those of it.
func TestSources(t *testing.T) {
	require(t)
	for _, driver := range []string{"run_kernel.py", "run_terminal.py"} {
		t.Run(driver, func(t *testing.T) {
			onPythons(t, driver, oldestAndNewest, func(t *testing.T, p place) { checkTruth(t, p, sourceCells) })
		})
	}
}

// TestHooks: what IPython's events take behind a cell's code is the cell's, in a row of its own, whatever the front end and
// however the cell ended.
func TestHooks(t *testing.T) {
	require(t)
	for _, driver := range []string{"run_kernel.py", "run_terminal.py"} {
		t.Run(driver, func(t *testing.T) {
			onPythons(t, driver, oldestAndNewest, func(t *testing.T, p place) { checkTruth(t, p, hookCells) })
		})
	}
}
