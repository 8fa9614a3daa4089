package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// tellsEnough is the CPU time below which a Python can have run no cell (cellsTake in tracer/overlooked.go). On a slow
// machine a Python that does nothing may take more, and then the tracer cannot know.
const tellsEnough = 100 * time.Millisecond

// TestPythonsThatEndFirst: a cell starts Pythons that end before any look at them. The report has their commands, and
// says in the cell and in the certificate that the arrays of the one that loaded NumPy are missing; from a Python that
// did nothing, no memory is missing.
func TestPythonsThatEndFirst(t *testing.T) {
	together(t)
	usedBy := filepath.Join(t.TempDir(), "used")
	cells := []string{
		"import resource, subprocess, sys",
		"subprocess.run([sys.executable, '-c', 'pass'], check=True)",
		"subprocess.run([sys.executable, '-c', 'import numpy; a = numpy.ones(30 << 17)'], check=True)",
		"b = bytearray(1 << 20)",
	}
	cells[1] += "; used = resource.getrusage(resource.RUSAGE_CHILDREN)" +
		"; open('" + usedBy + "', 'w').write(str(used.ru_utime + used.ru_stime))"
	s := startCells(t, nil, "import os, subprocess", cells...)
	r := s.unseen(4, "--strict")
	unseen, first := uint64(1), "-c import numpy; a = numpy.ones(30 << 17)"
	if secondsIn(t, usedBy) >= tellsEnough.Seconds() {
		unseen, first = 2, "-c pass"
	}
	if r.Certificate.Complete || lost(t, r, "Pythons whose cells cannot be seen") != unseen {
		t.Errorf("complete %v: %q", r.Certificate.Complete, r.Certificate.Incomplete)
	}
	said := strings.Join(r.Certificate.Problems, "\n")
	if !strings.Contains(said, first) || !strings.Contains(said, "1 of them had loaded NumPy") {
		t.Errorf("problems: %s", said)
	}
	got := topCells(r, s.cmd.Process.Pid)
	if len(got) != len(cells) {
		t.Fatalf("%d cells ran, %d windows", len(cells), len(got))
	}
	for i, w := range got {
		arrays, _ := w.Together("cpu.numpy")
		pages, _ := w.Together("cpu.mapped")
		if arrays.Exact != (i != 2) || !pages.Exact || !w.Meters["cpu.numpy"].Exact {
			t.Errorf("cell %d: arrays %+v (its own %+v), mapped %+v", i+1, arrays, w.Meters["cpu.numpy"], pages)
		}
	}
	if f, _ := got[2].Together("cpu.mapped"); f.Need() < 30<<20 {
		t.Errorf("the child's pages: %+v", f)
	}
	commands := 0
	for _, p := range r.Processes {
		if strings.HasSuffix(p.Command, "-c pass") ||
			strings.HasSuffix(p.Command, "-c import numpy; a = numpy.ones(30 << 17)") {
			commands++
		}
	}
	if commands != 2 {
		t.Errorf("processes: %+v", r.Processes)
	}
}

// secondsIn returns the number in a file that a cell wrote.
func secondsIn(t *testing.T, path string) float64 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		t.Fatal(err)
	}
	return seconds
}
