package holders

import (
	"math/rand/v2"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// TestRangesOf: an address of a block is in the range of its share, and in no other. Blocks that are none of the shares
// have no range, and there are never too many.
func TestRangesOf(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	shares := []event.Share{{Owners: []int32{0}}, {Owners: []int32{0, 2}}, {Owners: []int32{5}}}
	masks := []uint64{1, 5, 32, 64} // the last is of no share
	for _, count := range []int{0, 1, 500, 4 * maxRanges} {
		var all []Placed
		at := uint64(1 << 40)
		for range count {
			size := uint64(leastRanged + 16*r.IntN(1000))
			all = append(all, Placed{objects.Block{Address: at, Size: size}, masks[r.IntN(len(masks))]})
			at += size + uint64(16*r.IntN(20))
		}
		blocks := append([]Placed{}, all...)
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		ranges, found := rangesOf(all, shares), 0
		for _, b := range blocks {
			for _, one := range ranges {
				if b.Address-one.Address >= uint64(one.Size) {
					continue
				}
				found++
				if mask := masks[one.Share]; mask != b.Owners {
					t.Fatalf("%d blocks: a block of %b is in a range of %b", count, b.Owners, mask)
				}
			}
			if len(blocks) > 1000 {
				break
			}
		}
		want := 0
		for _, b := range blocks {
			if b.Owners != 64 {
				want++
			}
		}
		if len(ranges) > maxRanges || len(blocks) <= 1000 && found != want || count > 0 && len(ranges) == 0 {
			t.Errorf("%d blocks: %d ranges, %d of %d are in one", count, len(ranges), found, want)
		}
	}
}
