package blocks

import (
	"cmp"
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

const (
	// smallRequest is the size up to which PyTorch takes memory from segments of smallSegment bytes. These segments
	// have no larger blocks (kSmallSize, kSmallBuffer in c10/cuda/CUDACachingAllocator.cpp, PyTorch 1.0 to 2.11).
	smallRequest = 1 << 20
	smallSegment = 2 << 20
	// MaxDividers is the largest number of blocks that are named for a request. Their stacks differ.
	MaxDividers = 8
	// maxDivided is the largest number of live blocks that are searched for dividers of one request. MaxSearched is the
	// largest number for all requests of a session.
	maxDivided  = 1 << 20
	MaxSearched = 1 << 23
)

// span is a block by its addresses.
type span struct {
	start, end uint64
	stack      uint64
}

func (s span) size() event.Bytes { return event.Bytes(s.end - s.start) }

// DividersAt returns the blocks without which a request that PyTorch refused would have fitted into its cache: the
// smallest first, at most one for each stack. All changes before the refusal must be in.
//
// It returns none if the records do not agree with the allocator's own figures: some blocks that the allocator counts
// are not known, blocks overlap, or some lie partly outside of their segment. It also returns none if a free piece was
// large enough all the same: PyTorch keeps such a piece for another stream or pool, and the records do not tell which.
func (a *Blocks) DividersAt(e *event.Refusal) []windows.Divider {
	number, kind, ok := e.Meter.Device()
	key := course.Key{PID: e.PID, Meter: e.Meter}
	if !ok || kind != event.Active || e.Asked <= 0 || e.Detail <= uint64(e.Held) || a.GivenUp != "" ||
		a.Held[key] == nil || a.Held[key].Total != e.Held ||
		len(a.Live) > maxDivided || a.Searched+len(a.Live) > MaxSearched {
		return nil
	}
	a.Searched += len(a.Live)
	blocks, ok := spansOf(a.Live, key)
	segments, segmentsOK := spansOf(a.Live, course.Key{PID: e.PID, Meter: event.OfDevice(number, event.Driver)})
	if !ok || !segmentsOK {
		return nil
	}
	var dividers []windows.Divider
	cache := event.Bytes(0)
	for _, s := range segments {
		blocks = blocks[countBefore(blocks, s.start):]
		inside := countBefore(blocks, s.end)
		if inside == 0 {
			continue
		}
		if cache += s.size(); blocks[inside-1].end > s.end || cache > event.Bytes(e.Detail) {
			return nil
		}
		if (e.Asked <= smallRequest) == (s.size() == smallSegment) {
			found, ok := dividing(s, blocks[:inside], e.Asked)
			if !ok {
				return nil
			}
			dividers = append(dividers, found...)
		}
		blocks = blocks[inside:]
	}
	return smallest(dividers)
}

// spansOf returns the live blocks of a meter by address. ok is false if some overlap, or go beyond the last address.
func spansOf(blocks map[stacks.BlockKey]stacks.Block, key course.Key) (all []span, ok bool) {
	for at, b := range blocks {
		if at.Key == key {
			all = append(all, span{at.Address, at.Address + uint64(b.Size), b.Stack})
		}
	}
	slices.SortFunc(all, func(x, y span) int { return cmp.Compare(x.start, y.start) })
	end := uint64(0)
	for _, s := range all {
		if s.start < end || s.end <= s.start {
			return nil, false
		}
		end = s.end
	}
	return all, true
}

// countBefore returns the number of blocks that begin in front of an address.
func countBefore(blocks []span, address uint64) int {
	n, _ := slices.BinarySearchFunc(blocks, address, func(b span, at uint64) int { return cmp.Compare(b.start, at) })
	return n
}

// dividing returns the blocks of a segment without which a request would have fitted into the segment. ok is false if
// the request would have fitted as it was.
func dividing(segment span, blocks []span, asked event.Bytes) (all []windows.Divider, ok bool) {
	free := segment.start
	for i, b := range blocks {
		next := segment.end
		if i+1 < len(blocks) {
			next = blocks[i+1].start
		}
		d := windows.Divider{Size: b.size(), Before: event.Bytes(b.start - free), After: event.Bytes(next - b.end),
			Stack: b.stack}
		if d.Before >= asked || d.After >= asked {
			return nil, false
		}
		if d.Size < asked && event.Bytes(next-free) >= asked {
			all = append(all, d)
		}
		free = b.end
	}
	return all, true
}

// smallest returns the smallest divider of each stack, for at most [MaxDividers] stacks.
func smallest(all []windows.Divider) (out []windows.Divider) {
	slices.SortStableFunc(all, func(x, y windows.Divider) int { return cmp.Compare(x.Size, y.Size) })
	for _, d := range all {
		if len(out) < MaxDividers && !slices.ContainsFunc(out,
			func(x windows.Divider) bool { return x.Stack == d.Stack }) {
			out = append(out, d)
		}
	}
	return out
}
