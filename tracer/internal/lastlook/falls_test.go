package lastlook

import (
	"testing"

	"ipytracer/event"
	"ipytracer/internal/host/resident"
)

// TestFallsThatMayBeMore: where the end of another arena's heap may go, too, a share is a lower bound, unless it is
// little beside what surely goes.
func TestFallsThatMayBeMore(t *testing.T) {
	e := &event.Variables{Shares: []event.Share{{Owners: []int32{0}, Exact: true}, {Owners: []int32{1}, Exact: true}}}
	addFalls(e, &resident.Falls{
		AtOnce: map[uint64]uint64{1: 8 << 20, 2: 8 << 20, 3: 8 << 20}, Trims: map[uint64]uint64{},
		May: map[uint64]uint64{1: 1 << 20, 2: 64 << 10, 3: 1 << 20, 4: 1 << 20},
	})
	for i, exact := range []bool{false, true, false} { // the third has both owners, and is added
		if s := e.Shares[i]; s.Exact != exact || s.Frees != 8<<20 {
			t.Errorf("share %d: %+v", i, s)
		}
	}
	if len(e.Shares) != 3 {
		t.Errorf("%+v", e.Shares)
	}
}
