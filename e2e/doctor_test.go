package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"
)

// TestDoctorOfAProcess: what doctor says of a running Python is what an attach to it does.
func TestDoctorOfAProcess(t *testing.T) {
	require(t)
	onPythons(t, "run_kernel.py", oldestAndNewest, func(t *testing.T, p place) {
		w := startWorkload(t, p, []string{"pass_first", "last"})
		out, err := exec.Command(binary, "doctor", "--format", "json", fmt.Sprint(w.pid)).Output()
		var d struct {
			Possible bool `json:"possible"`
			Checks   []struct{ ID, State, Detail string }
			Running  []struct {
				PID       int
				Supported bool
				IPython   string
			} `json:"running_pythons"`
		}
		if jsonErr := json.Unmarshal(out, &d); jsonErr != nil {
			t.Fatalf("%v: %v\n%s", err, jsonErr, out)
		}
		if err != nil || !d.Possible || len(d.Running) != 1 || d.Running[0].PID != w.pid || !d.Running[0].Supported || d.Running[0].IPython == "" {
			t.Errorf("%v: %+v", err, d)
		}
		tr := attach(t, w.pid)
		results := w.run()
		if r, _ := tr.stop(); len(topCells(r, w.pid)) != len(results) || !r.Certificate.Complete {
			t.Errorf("doctor said that its cells can be seen: %d of %d, %+v", len(topCells(r, w.pid)), len(results), r.Certificate.Problems)
		}
	})
}
