package e2e

import (
	"strings"
	"testing"
)

// TestErrorsOfCells: the exception that ended each cell is known, also where one cell follows another and no look has
// time in between: the kernel half reads it from IPython's own result.
func TestErrorsOfCells(t *testing.T) {
	onPythons(t, "", [][2]string{
		{"bullseye", "/usr/bin/python3.9"}, {"trixie", "/usr/bin/python3.13"}, {"sid", "/usr/bin/python3.14"},
	}, func(t *testing.T, p place) {
		cells := []string{
			"1/0", "class Own(Exception): pass\nraise Own('x')", "x = 1", "bytearray(1 << 60)", "[][1]", "def (:",
			"y = 2",
			"class " + strings.Repeat("L", 100) + "(Exception): pass\nraise " + strings.Repeat("L", 100),
		}
		want := []string{"ZeroDivisionError", "Own", "", "MemoryError", "IndexError", "SyntaxError", "",
			strings.Repeat("L", 63)}
		s := startCellsOn(t, p, nil, "", cells...)
		r := s.unseen(0)
		got := topCells(r, s.cmd.Process.Pid)
		if len(got) != len(cells) {
			t.Fatalf("%d cells ran, %d windows", len(cells), len(got))
		}
		for i, w := range got {
			if w.Error != want[i] {
				t.Errorf("cell %d, %q: error %q (%s, %s), want %q", i+1, cells[i], w.Error, w.Status, w.Note, want[i])
			}
		}
	})
}
