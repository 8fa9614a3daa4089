package tracer

import (
	"runtime/debug"
	"testing"
)

// TestGarbage: a session's percentage ends with it, and one that other code has set meanwhile stays.
func TestGarbage(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(77))
	is := func(want int) {
		t.Helper()
		got := debug.SetGCPercent(100)
		if debug.SetGCPercent(got); got != want {
			t.Errorf("%d %%, want %d", got, want)
		}
	}
	var g garbage
	g.restore()
	is(77)
	g.allow(windGC)
	g.allow(listingGC)
	is(listingGC)
	g.restore()
	is(77)
	g.restore()
	is(77)
	g.allow(listingGC)
	debug.SetGCPercent(25)
	g.restore()
	is(25)
}
