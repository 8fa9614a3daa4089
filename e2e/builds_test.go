package e2e

import (
	"path/filepath"
	"testing"
)

// TestBuilds runs the catalogue on builds of CPython as people make them (scripts/pythons.sh), with the libraries of the Debian that
// has the same version.
func TestBuilds(t *testing.T) {
	require(t)
	for _, name := range []string{"plain313"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(pythonsDir(), "builds")
			needTree(t, filepath.Join(root, "opt", name))
			enter(t, root)
			for _, driver := range []string{"run_kernel.py", "run_terminal.py"} {
				t.Run(driver, func(t *testing.T) {
					checkTruth(t, place{driver: driver, python: filepath.Join("/opt", name, "bin/python3.13"), chroot: root}, nil)
				})
			}
		})
	}
}
