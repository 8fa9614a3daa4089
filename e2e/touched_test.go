package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// touches runs testdata/workloads/touches.py under the tracer. It returns, by function, the bytes that it touches and
// those that are there at its end, as the program knows them, and the report.
func touches(t *testing.T) (known map[string][2]int64, r *model.Report) {
	t.Helper()
	dir := t.TempDir()
	library, file, out := filepath.Join(dir, "touches.so"), filepath.Join(dir, "file"), filepath.Join(dir, "out.json")
	build := exec.Command("gcc", "-O1", "-w", "-shared", "-fPIC", "-o", library, "../testdata/workloads/touches.c")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if err := os.WriteFile(file, make([]byte, 32<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "run", "--budget", "10%", "--quiet", "--format", "json", "-o", out, "--", python(),
		"../testdata/workloads/touches.py", library, file)
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	known = map[string][2]int64{}
	for line := range strings.Lines(string(printed)) {
		var name string
		var touched, stays int64
		if _, err := fmt.Sscan(line, &name, &touched, &stays); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		known[name] = [2]int64{touched, stays}
	}
	return known, readReport(t, out)
}

// TestTouchedByInstructions: of memory that becomes resident, the lines are those that touched it first: by every kind
// of instruction, by the kernel in a system call, by a thread; of files, of shared memory, of arrays that another line
// made, and of memory that moves as it grows. What is given back has gone. Each is within a fiftieth of what the
// program knows, and the lines cover nearly all of the exact figure.
func TestTouchedByInstructions(t *testing.T) {
	together(t)
	known, r := touches(t)
	if len(known) < 20 {
		t.Fatalf("it says only %v", known)
	}
	session, resident := r.Windows[0], event.Resident.String()
	found := map[string][2]int64{}
	for _, a := range session.Allocations {
		if a.Meter != resident {
			continue
		}
		if !a.Sampled {
			t.Errorf("not marked as an estimate: %+v", a)
		}
		i := slices.IndexFunc(a.Stack, func(f model.Frame) bool { _, is := known[f.Function]; return is })
		if i >= 0 {
			name := a.Stack[i].Function
			found[name] = [2]int64{found[name][0] + a.Allocated, found[name][1] + a.Net}
		}
	}
	for name, want := range known {
		for i, what := range []string{"touched", "still there"} {
			if off := found[name][i] - want[i]; max(off, -off) > max(want[i]/50, 2<<20) {
				t.Errorf("%s: %d bytes %s, not %d", name, found[name][i], what, want[i])
			}
		}
	}
	peak, covered := session.Meters[resident].Peak, session.Coverage[resident]
	if covered.AtPeak < peak*9/10 || covered.AtPeak+covered.Rest != peak || covered.Sampled != covered.AtPeak {
		t.Errorf("of %d bytes at the peak: %+v", peak, covered)
	}
}
