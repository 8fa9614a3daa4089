package console

import (
	"bytes"
	"testing"

	"ipytracer/cmd/tracer/internal/console/consoletest"

	"golang.org/x/sys/unix"
)

// TestWidth: a terminal has its own width; a file or a pipe has none, unless COLUMNS sets one.
func TestWidth(t *testing.T) {
	main, other := consoletest.Terminal(t)
	for _, c := range []struct {
		columns  uint16
		variable string
		want     int
	}{{220, "", 220}, {220, "100", 220}, {20, "", 60}, {0, "", 120}, {0, "100", 100}} {
		t.Setenv("COLUMNS", c.variable)
		err := unix.IoctlSetWinsize(int(main.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: c.columns})
		if err != nil {
			t.Fatal(err)
		}
		if got := Width(other); got != c.want {
			t.Errorf("a terminal of %d columns, COLUMNS=%q: %d, want %d", c.columns, c.variable, got, c.want)
		}
	}
	for variable, want := range map[string]int{"": -1, "100": 100, "12": 60, "-3": -1, "wide": -1} {
		t.Setenv("COLUMNS", variable)
		if got := Width(&bytes.Buffer{}); got != want {
			t.Errorf("a pipe, COLUMNS=%q: %d, want %d", variable, got, want)
		}
	}
}
