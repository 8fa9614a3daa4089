package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ipytracer/model"
)

// sid has the Pythons of Debian's newest release.
var sid = [][2]string{{"sid", "/usr/bin/python3.14"}, {"sid", "/usr/bin/python3.15"}}

// TestMarimo runs cells as marimo's kernel does. Each run of a cell is a window with the cell's ID and text, from the
// beginning of its body to the end of its last expression, also where it awaits or fails. What the kernel takes behind
// the cell, which is more than the cell took, is in none.
func TestMarimo(t *testing.T) {
	together(t)
	onPythons(t, "run_marimo.py", sid, checkMarimo)
}

// TestMarimoKernelIsFound: `tracer kernels` names the process that `marimo edit` spawned for its cells, and the report
// of the server under `tracer run` has that kernel's cells.
func TestMarimoKernelIsFound(t *testing.T) {
	require(t)
	out := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.Command(binary, "run", "--quiet", "--format", "json", "-o", out, "--", python(),
		filepath.Join(workloads, "marimo.py"), "edit")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(stdout)
	var kernel struct {
		PID int `json:"pid"`
	}
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &kernel) != nil {
		t.Fatalf("the server said %q", lines.Text())
	}
	listed, err := exec.Command(binary, "kernels", "--format", "json").Output()
	if err != nil || !regexp.MustCompile(fmt.Sprintf(`"pid": ?%d\b`, kernel.PID)).Match(listed) ||
		!bytes.Contains(listed, []byte(`"marimo"`)) {
		t.Errorf("%v: pid %d is not a kernel of marimo in %s", err, kernel.PID, listed)
	}
	// The tracer looks at a new process a few times a second, and names the cells that it can see from then on.
	seen := func() bool {
		_, _ = io.WriteString(in, `{"id": "Hbol", "code": "kept = bytearray(50_000_000)"}`+"\n")
		return lines.Scan()
	}
	for range 20 {
		if !seen() {
			t.Fatal("the server has ended")
		}
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, w := range readReport(t, out).Windows {
		if w.Kind == model.Cell && w.PID == kernel.PID && w.Name == "cell Hbol" && w.Status == model.OK &&
			w.Meters["cpu.mapped"].Peak-w.Meters["cpu.mapped"].Start > 49_000_000 {
			return
		}
	}
	t.Error("no cell of the kernel is in the report of the server")
}

// statusOfMarimo returns the status that the window of a cell must have, and the exception, by the cell's own.
func statusOfMarimo(own string) (status, exception string) {
	switch own {
	case "ok", "MarimoStopError":
		return model.OK, ""
	case "MarimoInterrupt":
		return model.Interrupted, ""
	}
	return model.Error, own
}

func checkMarimo(t *testing.T, p place) {
	t.Helper()
	w, results, r := tracedWorkload(t, p, "--budget", "off")
	keepIfFailed(t, r, results)
	cells := topCells(r, w.pid)
	if len(cells) != len(results) {
		t.Fatalf("%d cells ran, %d windows: %q", len(results), len(cells), sources(cells))
	}
	for i, c := range cells {
		want := results[i]
		status, exception := statusOfMarimo(want.Status)
		if c.Name != "cell "+want.Name || c.Source != want.Source || c.SourceTruncated || c.ExecutionCount != nil ||
			c.Silent || c.Execution < i+1 {
			t.Errorf("%s %q is %q %q, truncated %v, In[%v]", want.Name, want.Source, c.Name, c.Source,
				c.SourceTruncated, show(c.ExecutionCount))
		}
		if c.Status != status || c.Error != exception || c.Note != "" {
			t.Errorf("%s: %s %q %q, want %s %q", want.Name, c.Status, c.Error, c.Note, status, exception)
		}
		checkPeaks(t, want, c)
		checkMarimoParts(t, c, windowsIn(r, c.ID))
	}
	checkEmbedded(t, r, cells)
	checkLines(t, r, cells)
	checkComplete(t, r)
	if !r.Certificate.Complete {
		t.Errorf("not complete: %+v", r.Certificate)
	}
}

// checkPeaks compares the peaks of a cell with what it saw itself.
func checkPeaks(t *testing.T, want result, c model.Window) {
	t.Helper()
	m, ok := want.mark("top")
	if !ok {
		return
	}
	for _, meter := range []string{"cpu.mapped", "cpu.resident"} {
		f := c.Meters[meter]
		if off := f.Peak - m.of(meter); !f.Exact || off < 0 || off > 65536 {
			t.Errorf("%s: %s peaks %+d from what it saw, exact: %v", want.Name, meter, off, f.Exact)
		}
	}
}

// windowsIn returns the windows in a window.
func windowsIn(r *model.Report, id int) (in []model.Window) {
	for _, w := range r.Windows {
		if w.Parent == id {
			in = append(in, w)
		}
	}
	return in
}

// checkMarimoParts compares the statements of a cell: its body is one, with the line of its first statement, and its
// last expression is another one. Parts that only load a name or a constant have no window.
func checkMarimoParts(t *testing.T, c model.Window, in []model.Window) {
	t.Helper()
	lines := map[string][]int{
		"setup": {1}, "Hbol": {1}, "MJUe": {1}, "vblA": {1}, "bkHC": {1, 2}, "lEQa": {1}, "PKri": {1, 2}, "Kclp": nil,
		"TqIu": {3}, "ROlb": {1}, "BYtC": {1},
	}
	want, isKnown := lines[strings.TrimPrefix(c.Name, "cell ")]
	if !isKnown {
		return
	}
	var got []int
	for _, w := range in {
		if w.Kind == model.Statement {
			got = append(got, w.Line)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: parts at lines %v, want %v", c.Name, got, want)
	}
}

// checkEmbedded looks for the cell of an app within a cell.
func checkEmbedded(t *testing.T, r *model.Report, cells []model.Window) {
	t.Helper()
	for _, c := range cells {
		if c.Name != "cell ZHCJ" {
			continue
		}
		for _, w := range windowsIn(r, c.ID) {
			if w.Kind == model.Cell && w.Name == "cell ROlb" && w.Source == "inner = 1" && w.Status == model.OK {
				return
			}
		}
	}
	t.Error("the embedded cell has no window in its cell")
}

// checkLines looks for the lines of the cell that keeps memory.
func checkLines(t *testing.T, r *model.Report, cells []model.Window) {
	t.Helper()
	i := slices.IndexFunc(cells, func(c model.Window) bool { return c.Name == "cell TqIu" })
	for _, a := range cells[i].Allocations {
		if a.Meter != "cpu.mapped" || a.Net < 100_000_000 {
			continue
		}
		var lines []int
		for _, f := range a.Stack {
			if f.Execution == cells[i].Execution {
				lines = append(lines, f.Line)
			}
		}
		if slices.Equal(lines, []int{4, 6}) {
			return
		}
	}
	t.Errorf("lines of the bytearray: %+v", cells[i].Allocations)
}
