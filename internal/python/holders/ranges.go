package holders

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// rangesOf returns the ranges of the blocks that belong to shares, by address. Blocks of the same owners that lie side
// by side are one range. If there are too many ranges, blocks are joined across larger and larger gaps. If there are
// still too many, the smallest are left out.
func rangesOf(blocks []Placed, shares []event.Share) (out []event.HeldRange) {
	slices.SortFunc(blocks, func(a, b Placed) int { return cmp.Compare(a.Address, b.Address) })
	blocks = withoutOverlaps(blocks)
	const head = 64 // bytes that an allocator may have in front of a block
	for gap := uint64(head); ; gap *= 8 {
		if blocks = joined(blocks, gap); len(blocks) <= maxRanges || gap > maxGap {
			break
		}
	}
	if len(blocks) > maxRanges {
		slices.SortFunc(blocks, func(a, b Placed) int { return cmp.Compare(b.Size, a.Size) })
		blocks = blocks[:maxRanges]
		slices.SortFunc(blocks, func(a, b Placed) int { return cmp.Compare(a.Address, b.Address) })
	}
	shareOf := map[uint64]int32{} // by owners
	for i := range shares {
		shareOf[shares[i].Mask()] = int32(i)
	}
	for _, b := range blocks {
		if share, listed := shareOf[b.Owners]; listed {
			out = append(out, event.HeldRange{Address: b.Address, Size: event.Bytes(b.Size), Share: share})
		}
	}
	return out
}

// maxRanges is the largest number of ranges of a listing.
const maxRanges = 1 << 14

// maxGap is the gap, in bytes, after which no larger one is tried.
const maxGap = 64 << 10

// joined joins neighbouring blocks of the same owners into one, if no more than gap bytes are between them.
func joined(blocks []Placed, gap uint64) []Placed {
	out := blocks[:0]
	for _, b := range blocks {
		if n := len(out); n > 0 {
			last := &out[n-1]
			if last.Owners == b.Owners && b.Address-(last.Address+last.Size) <= gap {
				last.Size = b.Address + b.Size - last.Address
				continue
			}
		}
		out = append(out, b)
	}
	return out
}

// Placed is a block with its owners.
type Placed struct {
	objects.Block
	Owners uint64
}

// withoutOverlaps leaves out blocks that begin within the block before. The blocks are in the order of addresses.
func withoutOverlaps(blocks []Placed) []Placed {
	out := blocks[:0]
	for _, b := range blocks {
		if n := len(out); n == 0 || out[n-1].Address+out[n-1].Size <= b.Address {
			out = append(out, b)
		}
	}
	return out
}
