package e2e

import (
	"os"
	"testing"

	"ipytracer/model"
)

// TestWithoutGIL: windows, statements, markers and the kernel's counts on a free-threaded build are as on any other.
// Debian has no NumPy for one, and no ZeroMQ: cells that need an array are left out, and there is no kernel. Without
// TRACER_PYTHONS=all it runs on one build, and only the cells of scripts.
func TestWithoutGIL(t *testing.T) {
	together(t)
	all := os.Getenv("TRACER_PYTHONS") == "all"
	for _, c := range []struct{ tree, name, version string }{{"builds", "plain313t", "3.13"},
		{"builds-sid", "plain314t", "3.14"}} {
		if c.version != "3.13" && !all {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := built(t, c.tree, c.name, c.version)
			p.extra, p.mimalloc = []string{"--without", "numpy,pandas"}, true
			if all {
				checkBuild(t, "static, -O3, free-threaded", p, "run_terminal.py")
			}
			for driver, check := range map[string]func(*testing.T, place){
				"run_bare.py":    checkBare,
				"run_threads.py": checkThreads,
			} {
				t.Run(driver, func(t *testing.T) {
					q := p
					q.driver = driver
					check(t, q)
				})
			}
		})
	}
}

// TestThreads runs cells in threads at the same time. Each has its own window, with its own text, and all see the
// memory of all.
func TestThreads(t *testing.T) {
	together(t)
	onPythons(t, "run_threads.py", oldestAndNewest, checkThreads)
}

func checkThreads(t *testing.T, p place) {
	t.Helper()
	w, results, r := tracedWorkload(t, p, "--budget", "off")
	cells := map[string]model.Window{}
	for _, c := range topCells(r, w.pid) {
		cells[c.Source] = c
	}
	if len(cells) != len(results)+1 { // and one cell for the setup
		t.Errorf("%d cells ran, %d windows: %q", len(results), len(cells)-1, sources(topCells(r, w.pid)))
	}
	all := int64(0)
	for _, run := range results {
		all += run.Size
	}
	const pageSize, stacks = 4096, 24 << 20 // of threads that begin, and of other mappings meanwhile
	for _, run := range results {
		c := cells[run.Source]
		if run.Status != model.OK || c.Status != model.OK {
			t.Errorf("cell %s: status %q, run_cell said %s", run.Name, c.Status, run.Status)
		}
		for _, other := range results {
			if o := cells[other.Source]; c.StartNS > o.StartNS+o.DurationNS {
				t.Errorf("cells %s and %s did not run at once", run.Name, other.Name)
			}
		}
		if need := c.Meters["cpu.mapped"].Need(); need < all || need > all+stacks {
			t.Errorf("cell %s: needs %d, there were %d", run.Name, need, all)
		}
		taken := map[int64][]model.Frame{}
		for _, a := range c.Allocations {
			if a.Meter == "cpu.mapped" {
				taken[a.Allocated] = a.Stack
			}
		}
		for _, other := range results { // the memory is the process's: each window has every line
			stack := taken[other.Size+pageSize] // the C library keeps this much in front of a block
			if len(stack) < 2 || stack[0].Function != "take"+other.Name || stack[0].Line != 4 || stack[1].Line != 5 {
				t.Errorf("cell %s: %d bytes by %+v", run.Name, other.Size, stack)
			}
		}
	}
}
