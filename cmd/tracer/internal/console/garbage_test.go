package console

import (
	"runtime/debug"
	"testing"
)

// TestGarbage: with much memory in use, less garbage is allowed, and the setting does not oscillate.
func TestGarbage(t *testing.T) {
	for _, one := range []struct {
		live         uint64
		before, want int
	}{
		{1 << 20, 0, percentUsually}, {20 << 20, 0, percentUsually}, {largeHeap, percentUsually, percentIfLarge},
		{20 << 20, percentIfLarge, percentIfLarge}, {20 << 20, percentUsually, percentUsually},
		{1 << 20, percentIfLarge, percentUsually},
	} {
		if got := percentFor(one.live, one.before); got != one.want {
			t.Errorf("%d MiB in use, %d %% before: %d %%, want %d", one.live>>20, one.before, got, one.want)
		}
	}
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(30)
	defer debug.SetGCPercent(before)
	var g garbage
	for range paceInterval {
		g.Pace()
	}
	if now := debug.SetGCPercent(30); now != g.percent || g.percent == 0 {
		t.Errorf("it is %d %%, and was to be %d", now, g.percent)
	}
}
