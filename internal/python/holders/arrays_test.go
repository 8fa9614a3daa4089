package holders

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// TestEveryArrayIsFound: every array of a real Python that holds arrays in every way there is, is found with its size.
func TestEveryArrayIsFound(t *testing.T) {
	for _, p := range pythons() {
		t.Run(p.name, func(t *testing.T) {
			proc := p.start(t, "holders.py")
			if proc.interp == nil {
				t.Skip("it does not run here")
			}
			all, err := Arrays(context.Background(), proc.interp, 1024, objects.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if !all.Complete {
				t.Fatal("the walk is not complete")
			}
			if len(all.Blocks) == 0 {
				t.Skip("it has no NumPy")
			}
			for _, e := range proc.wanted {
				i, ok := slices.BinarySearchFunc(all.Blocks, e.Address,
					func(b objects.Block, a uint64) int { return cmp.Compare(b.Address, a) })
				if ok && all.Blocks[i].Size != e.Size {
					t.Errorf("%+v has %d bytes", e, all.Blocks[i].Size)
				}
				if !ok && e.Kind != event.HeldByNone {
					t.Errorf("not found: %+v", e)
				}
			}
		})
	}
}
