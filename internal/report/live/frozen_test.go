package live_test

import (
	"strings"
	"testing"

	"ipytracer/internal/report/live"
)

// TestFrozenScreenSaysSo wants a frozen screen to say so at every width from 40, however long the title is: an old
// screen must not look like a new one.
func TestFrozenScreenSaysSo(t *testing.T) {
	g := glance()
	g.Kernels[0].PID, g.ElapsedNS = 4_194_303, 360_000_000_000_000
	for width := 40; width <= 200; width++ {
		rows := live.Screen(g, &live.State{Frozen: true}, width, 24)
		if first := check(t, rows[:1], width, 1, false); !strings.Contains(first, "FROZEN") {
			t.Errorf("%d columns: %q", width, first)
		}
	}
}
