package budget

import (
	"slices"
	"testing"
	"time"

	"ipytracer/internal/ledger"
)

// TestStepsUp: the group with the lowest level is put back first, and each only once the account has filled beyond its
// level.
func TestStepsUp(t *testing.T) {
	b := Budget{Roots: map[uint32]*Pauses{}}
	for _, g := range []ledger.Group{ledger.GroupNative, ledger.GroupSmallStacks, ledger.GroupNumPy, ledger.GroupFrames,
		ledger.GroupNumPy} {
		b.Pause(3, g)
	}
	b.Pause(3, ledger.Group(77))   // a group that does not exist, out of a damaged record
	b.Pause(3, ledger.GroupSignal) // a group that is never paused
	if !b.IsPaused(3, ledger.GroupNumPy) || b.IsPaused(2, ledger.GroupNumPy) {
		t.Error("numpy of root 3 is stepped down, and of no other")
	}
	r := b.Roots[3]
	if len(r.takeOut) != 4 {
		t.Errorf("to be taken out: %v", r.takeOut)
	}
	none := func(ledger.Group) bool { return false }
	if _, ok := r.next(ledger.Account{Credit: -time.Second, Full: time.Second}, none); ok {
		t.Error("one is put back at once")
	}
	for _, c := range r.returns {
		c.relapses = 4 // the storm of each has gone on, several times
	}
	for _, want := range []struct {
		group ledger.Group
		level float64
	}{{ledger.GroupNumPy, 0}, {ledger.GroupFrames, 0.5}, {ledger.GroupSmallStacks, 0.75}, {ledger.GroupNative, 0.75}} {
		enough := time.Duration((want.level + hysteresis) * float64(time.Second))
		if g, ok := r.next(ledger.Account{Credit: enough - 1, Full: time.Second}, none); ok {
			t.Errorf("%v is put back too early", g)
		}
		g, ok := r.next(ledger.Account{Credit: enough, Full: time.Second}, none)
		if !ok || g != want.group {
			t.Errorf("put back: %v, %v, want %v", g, ok, want.group)
		}
		r.Groups = slices.DeleteFunc(r.Groups, func(x ledger.Group) bool { return x == g })
	}
	if _, ok := r.next(ledger.Account{Credit: time.Second, Full: time.Second}, none); ok {
		t.Error("nothing is left to put back")
	}
}

// TestRestKeepsNobody: a group that rests delays no other group, however much lower its level is.
func TestRestKeepsNobody(t *testing.T) {
	b := Budget{Roots: map[uint32]*Pauses{}}
	b.Pause(0, ledger.GroupFrames)
	b.Pause(0, ledger.GroupNumPy)
	full := ledger.Account{Credit: time.Second, Full: time.Second}
	g, ok := b.Roots[0].next(full, func(g ledger.Group) bool { return g == ledger.GroupNumPy })
	if !ok || g != ledger.GroupFrames {
		t.Errorf("put back: %v, %v", g, ok)
	}
}

// TestGroupComesBackWithCredit: after the end of a storm a group comes back when 2 s of credit have been saved, however
// deep the account was. If the storm goes on, that doubles each time, up to the credit that brings the group back in
// any case, and is forgotten after a long quiet time.
func TestGroupComesBackWithCredit(t *testing.T) {
	const full = 500 * time.Millisecond // 3 %
	var c comeback
	now := time.Unix(1000, 0)
	// saved returns how much above the lowest credit the group comes back.
	saved := func(low time.Duration) time.Duration {
		for d := time.Duration(0); d < 3*full; d += time.Millisecond {
			a := ledger.Account{Credit: low + d, Full: full}
			if c.follow(a); c.isReady(ledger.GroupTorch, a) {
				return d
			}
		}
		return -1
	}
	for _, want := range []time.Duration{63, 125, 250, 344, 344} { // ms; the level is -250, and 94 more is enough
		c.paused(now)
		if d := saved(-full); d != want*time.Millisecond {
			t.Errorf("after %d relapses it is back with %v more, want %d ms", c.relapses, d, want)
		}
		now = now.Add(time.Second)
		c.returned(now)
		now = now.Add(time.Second)
	}
	now = now.Add(relapse)
	if c.paused(now); c.relapses != 0 {
		t.Errorf("%d relapses after a long quiet time", c.relapses)
	}
}
