package tracer

import (
	"slices"
	"testing"
	"time"

	"ipytracer/tracer/ledger"
)

// TestStepsUp: what was stepped down last by its nature is put back first, and only once the account has filled beyond its level.
func TestStepsUp(t *testing.T) {
	b := budget{roots: map[uint32]*steps{}}
	for _, g := range []ledger.Group{ledger.GroupNative, ledger.GroupSmallStacks, ledger.GroupNumPy, ledger.GroupFrames, ledger.GroupNumPy} {
		b.shed(3, g)
	}
	b.shed(3, ledger.Group(77))   // a group that does not exist, out of a damaged record
	b.shed(3, ledger.GroupSignal) // one that is never stepped down
	if !b.isShed(3, ledger.GroupNumPy) || b.isShed(2, ledger.GroupNumPy) {
		t.Error("numpy of root 3 is stepped down, and of no other")
	}
	r := b.roots[3]
	if len(r.takeOut) != 4 {
		t.Errorf("to be taken out: %v", r.takeOut)
	}
	for _, want := range []struct {
		group ledger.Group
		level float64
	}{{ledger.GroupNumPy, 0}, {ledger.GroupFrames, 0.5}, {ledger.GroupSmallStacks, 0.5}, {ledger.GroupNative, 0.75}} {
		enough := time.Duration((want.level + hysteresis) * float64(time.Second))
		if g, ok := r.next(ledger.Account{Credit: enough - 1, Full: time.Second}); ok {
			t.Errorf("%v is put back too early", g)
		}
		g, ok := r.next(ledger.Account{Credit: enough, Full: time.Second})
		if !ok || g != want.group {
			t.Errorf("put back: %v, %v, want %v", g, ok, want.group)
		}
		r.down = slices.DeleteFunc(r.down, func(x ledger.Group) bool { return x == g })
	}
	if _, ok := r.next(ledger.Account{Credit: time.Second, Full: time.Second}); ok {
		t.Error("nothing is left to put back")
	}
}
