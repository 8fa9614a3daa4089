package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoctorOfAProcess compares doctor's verdict on a running Python with an attach to it. TestPythons and TestBuilds
// do the same with others.
func TestDoctorOfAProcess(t *testing.T) {
	require(t)
	if !checkVerdict(t, place{driver: "run_kernel.py"}) {
		t.Error("its cells cannot be seen")
	}
}

// TestRefusedBuild: if the file of a Python does not show where coroutines end, doctor and attach both refuse it.
func TestRefusedBuild(t *testing.T) {
	together(t)
	program, err := os.ReadFile("/usr/bin/python3.11")
	if err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"\x00_PyGen_SetStopIterationValue\x00", "\x00PyExc_StopIteration\x00"} {
		if bytes.Count(program, []byte(name)) != 1 {
			t.Skip("this is another python3.11 than Debian's")
		}
		program = bytes.Replace(program, []byte(name), []byte(name[:len(name)-2]+"_\x00"), 1)
	}
	changed := filepath.Join(t.TempDir(), "python3.11")
	if err := os.WriteFile(changed, program, 0o755); err != nil {
		t.Fatal(err)
	}
	// Since all symbols are bound at load, modules that need these are not loaded: _asyncio, which asyncio can do
	// without. A kernel's ZeroMQ could not.
	if checkVerdict(t, place{driver: "run_terminal.py", python: changed,
		env: []string{"LD_BIND_NOW=1", "PYTHONHOME=/usr"}}) {
		t.Error("it is not refused")
	}
}

// checkVerdict compares doctor's verdict on a front end with an attach to it. Either all of its cells are seen, with a
// certificate that is complete, or it ends with status 3 and doctor's reason. It returns whether the cells are seen.
func checkVerdict(t *testing.T, p place) bool {
	t.Helper()
	w := startWorkload(t, p, []string{"pass_first", "last"})
	out, err := exec.Command(binary, "doctor", "--format", "json", fmt.Sprint(w.pid)).Output()
	var d struct {
		Possible bool `json:"possible"`
		Checks   []struct{ ID, State, Detail string }
		Running  []struct {
			PID       int
			Supported bool
			Reason    string
			IPython   string
		} `json:"running_pythons"`
	}
	if jsonErr := json.Unmarshal(out, &d); jsonErr != nil {
		t.Fatalf("%v: %v\n%s", err, jsonErr, out)
	}
	if len(d.Running) != 1 || d.Running[0].PID != w.pid || d.Running[0].IPython == "" {
		t.Fatalf("%v: %+v", err, d)
	}
	says := d.Running[0]
	if (err == nil) != says.Supported || d.Possible != says.Supported {
		t.Errorf("doctor ends with %v and says %+v", err, d)
	}
	if !says.Supported {
		said, err := exec.Command(binary, "attach", fmt.Sprint(w.pid)).CombinedOutput()
		if exitStatus(t, err) != 3 || says.Reason == "" || !strings.Contains(string(said), says.Reason) {
			t.Errorf("doctor says that cells cannot be seen (%s); attach: %v: %s", says.Reason, err, said)
		}
		return false
	}
	tr := attach(t, w.pid)
	results := w.run()
	if r, _ := tr.stop(); len(topCells(r, w.pid)) != len(results) || !r.Certificate.Complete {
		t.Errorf("doctor says that its cells can be seen: %d of %d, %+v", len(topCells(r, w.pid)), len(results),
			r.Certificate.Problems)
	}
	return true
}
