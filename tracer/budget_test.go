package tracer

import (
	"math"
	"math/bits"
	"testing"
	"time"

	"ipytracer/tracer/ledger"
)

// TestRate: what the kernel is told means the share that was asked for, and is noticed within a tenth of a second.
func TestRate(t *testing.T) {
	for _, share := range []float64{0.001, 0.01, 0.03, 0.1, 0.5, 1} {
		for _, cost := range []time.Duration{200 * time.Nanosecond, 850 * time.Nanosecond, 3 * time.Microsecond, 15 * time.Microsecond} {
			stride, slice := rate(share, cost)
			if bits.OnesCount32(stride) != 1 || stride < 2 {
				t.Fatalf("share %v, cost %v: stride %d", share, cost, stride)
			}
			if got := float64(stride) * float64(cost) / float64(slice); math.Abs(got-share) > share/100 {
				t.Errorf("share %v, cost %v: %d hits in %d ns are a share of %v", share, cost, stride, slice, got)
			}
			// A storm hits without pause: the stride is full after its own cost.
			if storm := time.Duration(stride) * cost; storm > 50*time.Millisecond {
				t.Errorf("share %v, cost %v: a storm goes on for %v", share, cost, storm)
			}
		}
	}
}

func TestShedIsRememberedAndPutOffLonger(t *testing.T) {
	var b budget
	start := time.Now()
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, lastBack, lastBack} {
		b.shed(ledger.GroupNumPy)
		if !b.isShed(ledger.GroupNumPy) || !b.groups[ledger.GroupNumPy].takeOut {
			t.Fatal("not shed")
		}
		at, ok := b.nextBack()
		if wait := at.Sub(start); !ok || wait < want || wait > want+5*time.Second {
			t.Errorf("back after %v, want %v", wait, want)
		}
		b.groups[ledger.GroupNumPy].shed = false
	}
	b.shed(ledger.Group(77)) // a group that does not exist, out of a damaged record
}
