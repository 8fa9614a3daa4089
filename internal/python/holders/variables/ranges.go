package variables

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// rangesOf returns where blocks lie, by address. Blocks of the same owners that lie side by side are one range. Where
// there are too many ranges, blocks with memory of nobody's between them become one range as well. If there are still
// too many, the smallest are left out.
func rangesOf(all []Placed, shares []event.Share) (out []event.HeldRange) {
	slices.SortFunc(all, func(a, b Placed) int { return cmp.Compare(a.Address, b.Address) })
	all = apart(all)
	const head = 64 // in front of blocks
	for gap := uint64(head); ; gap *= 8 {
		if all = joined(all, gap); len(all) <= maxRanges || gap > maxGap {
			break
		}
	}
	if len(all) > maxRanges {
		slices.SortFunc(all, func(a, b Placed) int { return cmp.Compare(b.Size, a.Size) })
		all = all[:maxRanges]
		slices.SortFunc(all, func(a, b Placed) int { return cmp.Compare(a.Address, b.Address) })
	}
	at := map[uint64]int32{}
	for i := range shares {
		at[shares[i].Mask()] = int32(i)
	}
	for _, b := range all {
		if share, listed := at[b.Owners]; listed {
			out = append(out, event.HeldRange{Address: b.Address, Size: event.Bytes(b.Size), Share: share})
		}
	}
	return out
}

// maxRanges is the largest number of ranges of a listing.
const maxRanges = 1 << 14

// maxGap is the largest piece of memory that is nobody's and that a range takes in.
const maxGap = 64 << 10

// joined joins neighbouring blocks of the same owners into one, if no more than gap bytes are between them.
func joined(all []Placed, gap uint64) []Placed {
	out := all[:0]
	for _, b := range all {
		if n := len(out); n > 0 && out[n-1].Owners == b.Owners && b.Address-(out[n-1].Address+out[n-1].Size) <= gap {
			out[n-1].Size = b.Address + b.Size - out[n-1].Address
			continue
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

// apart leaves out blocks that begin within the block before.
func apart(all []Placed) []Placed {
	out := all[:0]
	for _, b := range all {
		if n := len(out); n == 0 || out[n-1].Address+out[n-1].Size <= b.Address {
			out = append(out, b)
		}
	}
	return out
}
