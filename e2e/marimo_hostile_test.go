package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"ipytracer/internal/ledger"
	"ipytracer/model"
)

// marimoName is the form of all names of cells of marimo, whatever their IDs are.
var marimoName = regexp.MustCompile(`^cell [-\w]{1,40}$`)

// TestMarimoAttacked attaches to a program that calls itself marimo. Names and texts of cells are bounded, and have no
// control characters but in their source. The tracer stays small, says what it could not record in the flood of cells,
// and sees the end of the process behind it.
func TestMarimoAttacked(t *testing.T) {
	require(t)
	pid, run := hostileMarimo(t, "marimo.py")
	tr := attach(t, pid)
	run()
	r, _ := tr.wait(0)
	if most := tr.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10; most > 1<<30 {
		t.Errorf("the tracer had %d bytes", most)
	}
	cells := 0
	for _, w := range r.Windows {
		if w.Kind != model.Cell {
			continue
		}
		cells++
		if w.Name != "" && !marimoName.MatchString(w.Name) {
			t.Errorf("a name: %q", w.Name)
		}
		isLong := w.Name == "cell text0" || w.Name == "cell text1" // of a gigabyte, and of 256 MiB
		if n := utf8.RuneCountInString(w.Source); n > ledger.SourceLimit || isLong != w.SourceTruncated {
			t.Errorf("%s: %d characters of source, truncated: %v", w.Name, n, w.SourceTruncated)
		}
	}
	if cells < 1000 || r.Certificate.Complete {
		t.Errorf("%d cells, complete is %v", cells, r.Certificate.Complete)
	}
	if e := r.Processes[0].Ending; e == nil {
		t.Errorf("the end of the process was not seen: %+v", r.Processes[0])
	}
}

// TestNotMarimo: the same code runs in a process that is not marimo's. Nothing is looked at there.
func TestNotMarimo(t *testing.T) {
	together(t)
	pid, run := hostileMarimo(t, "other.py")
	tr := attach(t, pid)
	run()
	r, _ := tr.wait(0)
	for _, w := range r.Windows {
		if w.Kind != model.Session {
			t.Fatalf("a window: %+v", w)
		}
	}
}

// hostileMarimo starts marimo_hostile.py under a name. run lets it attack and then end.
func hostileMarimo(t *testing.T, name string) (pid int, run func()) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(workloads, "marimo_hostile.py"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python(), file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	var said struct {
		PID   int `json:"pid"`
		Cells int `json:"cells"`
	}
	listen := func() {
		t.Helper()
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &said) != nil {
			t.Fatalf("it said %q: %s", lines.Text(), stderr.String())
		}
	}
	listen()
	return said.PID, func() {
		t.Helper()
		_, _ = io.WriteString(in, "attack\n")
		if listen(); said.Cells == 0 {
			t.Fatal("it did not attack")
		}
		_, _ = io.WriteString(in, "end\n")
	}
}
