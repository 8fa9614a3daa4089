package e2e

import (
	"testing"
)

var hookCells = []string{
	"hooks_registered", "hooks_only", "hooks_below", "hooks_comment", "hooks_awaited", "hooks_nested", "hooks_failed",
	"hooks_syntax", "hooks_interrupted", "hooks_silent", "hooks_that_fail", "hooks_mended", "hooks_gone", "pass_after_hooks",
}

var oldestAndNewest = [][2]string{{"bullseye", "/usr/bin/python3.9"}, {"trixie", "/usr/bin/python3.13"}, {"sid", "/usr/bin/python3.14"}, {"sid", "/usr/bin/python3.15"}}

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
