package e2e

import (
	"strings"
	"syscall"
	"testing"
)

// TestEndings compares the status of every cell with the kernel's reply. One tracer keeps up. Another one on the same
// process gets no CPU while the cells run: it reads its records long after the last one.
func TestEndings(t *testing.T) {
	together(t)
	onPythons(t, "run_endings.py", oldestAndNewest, func(t *testing.T, p place) {
		w := startWorkload(t, p, nil)
		inTime, stopped := attach(t, w.pid, "--budget", "off"), attach(t, w.pid, "--budget", "off")
		stopped.pause()
		results := w.run()
		if err := stopped.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		checkEndings(t, "in time", inTime, w, results)
		checkEndings(t, "stopped", stopped, w, results)
	})
}

func checkEndings(t *testing.T, which string, tr *trace, w *workload, results []result) {
	t.Helper()
	r, _ := tr.stop()
	cells := topCells(r, w.pid)
	if len(cells) != len(results) || len(cells) < 20 {
		t.Fatalf("%s: %d cells ran, %d windows", which, len(results), len(cells))
	}
	for i, c := range cells {
		if c.Source != results[i].Source {
			t.Fatalf("%s: %s: source %q, typed %q", which, results[i].Name, c.Source, results[i].Source)
		}
		if c.Status != results[i].Status || strings.Contains(c.Note, "not known") {
			t.Errorf("%s: %s: status %s %q, the kernel said %s", which, results[i].Name, c.Status, c.Note,
				results[i].Status)
		}
	}
}
