package e2e

import (
	"strings"
	"syscall"
	"testing"
)

// TestEndings: the status of every cell is what the kernel replied, with a tracer that keeps up and with one that gets no CPU while the
// cells run: then it looks when the last one is long over.
func TestEndings(t *testing.T) {
	together(t)
	for name, stopped := range map[string]bool{"in time": false, "stopped": true} {
		t.Run(name, func(t *testing.T) {
			onPythons(t, "run_endings.py", oldestAndNewest, func(t *testing.T, p place) { checkEndings(t, p, stopped) })
		})
	}
}

func checkEndings(t *testing.T, p place, stopped bool) {
	t.Helper()
	w := startWorkload(t, p, nil)
	tr := attach(t, w.pid, "--budget", "off")
	signal := func(s syscall.Signal) {
		if err := tr.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	if stopped {
		signal(syscall.SIGSTOP)
	}
	results := w.run()
	if stopped {
		signal(syscall.SIGCONT)
	}
	r, _ := tr.stop()
	cells := topCells(r, w.pid)
	if len(cells) != len(results) || len(cells) < 20 {
		t.Fatalf("%d cells ran, %d windows", len(results), len(cells))
	}
	for i, c := range cells {
		if c.Source != results[i].Source {
			t.Fatalf("%s: source %q, typed %q", results[i].Name, c.Source, results[i].Source)
		}
		if c.Status != results[i].Status || strings.Contains(c.Note, "not known") {
			t.Errorf("%s: status %s %q, the kernel said %s", results[i].Name, c.Status, c.Note, results[i].Status)
		}
	}
}
