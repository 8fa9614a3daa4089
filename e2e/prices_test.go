package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// loadUp keeps processors busy with so many loops until the test is over, and for a minute at most.
func loadUp(t *testing.T, loops int) {
	t.Helper()
	for range loops {
		cmd := exec.Command("timeout", "60", python(), "-c", "while True: pass")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	}
}

// TestPricesTooHigh: where a hit is taken to cost twelve times what it does, on a busy machine, importing 3,000 modules spends all that the probes may cost.
// PyTorch's totals, which an H100 made beside it, stay right in every cell, and statements come back.
func TestPricesTooHigh(t *testing.T) {
	require(t)
	broken := filepath.Join(t.TempDir(), "broken")
	if out, err := exec.Command("go", "build", "-tags", "broken", "-o", broken, "../cmd/tracer").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w := startWorkload(t, place{driver: "../gpu/replay/run_replay.py", extra: []string{"h100-reports", "--modules", "3000"}}, nil)
	tr := tracedBy(t, broken, append(os.Environ(), "TRACER_PRICES=12"), w.pid, "attach")
	loadUp(t, 8)
	results := w.run()
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
	if !strings.Contains(strings.Join(r.Certificate.Problems, "\n"), "the probes on statements were stepped down") {
		t.Errorf("the account was never empty: %q", r.Certificate.Problems)
	}
}
