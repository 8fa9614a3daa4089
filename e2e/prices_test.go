package e2e

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// loadUp keeps processors busy with a number of loops until the returned function is called or the test is over, and
// for a minute at most.
func loadUp(t *testing.T, loops int) (end func()) {
	t.Helper()
	var started []*exec.Cmd
	for range loops {
		cmd := exec.Command("timeout", "60", python(), "-c", "while True: pass")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		started = append(started, cmd)
	}
	end = sync.OnceFunc(func() {
		for _, cmd := range started {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
	})
	t.Cleanup(end)
	return end
}

// TestPricesTooHigh sets the price of a hit to twelve times the usual cost, on a busy machine. Importing 3,000 modules
// and running code without pause spends the whole budget of the probes. PyTorch's totals, which an H100 made meanwhile,
// stay right in every cell. They are a tenth of the spending, and all of them are less than their own share of the
// budget, which others cannot spend. That share is a time, so the price is the same on every machine: at twelve times
// the cost of a machine with dear traps, PyTorch alone would spend more than its share, and rightly be stepped down.
func TestPricesTooHigh(t *testing.T) {
	require(t)
	broken, err := brokenTracer()
	if err != nil {
		t.Fatal(err)
	}
	w := startWorkload(t, place{driver: "../gpu/replay/run_replay.py",
		extra: []string{"h100-reports", "--modules", "3000", "--execs", "125"}}, nil)
	tr := tracedBy(t, broken, append(os.Environ(), "TRACER_PRICES=12"), w.pid, "attach")
	end := loadUp(t, 8)
	results := w.run()
	end()
	r, _ := tr.stop()
	windows := topCells(r, w.pid)
	if len(windows) != len(results) {
		t.Fatalf("%d cells ran, %d windows", len(results), len(windows))
	}
	moved := 0
	for i, run := range results {
		want, f := run.Truth["gpu.0.active"], windows[i].Meters["gpu.0.active"]
		if got := (startPeakEnd{f.Start, f.Peak, f.End}); !f.Exact || got != *want {
			t.Errorf("%s: gpu.0.active is %+v, want %+v", run.Name, f, *want)
		}
		if want.Peak > want.Start {
			moved++
		}
	}
	if moved < 15 {
		t.Errorf("only %d cells used the GPU", moved)
	}
	if !strings.Contains(strings.Join(r.Certificate.Incomplete, "\n"), "the probes on statements were stepped down") {
		t.Errorf("the account was never empty: %q", r.Certificate.Problems)
	}
}
