package attribution

import (
	"slices"

	"ipytracer/event"
)

// listing sets how many allocations of a meter a window lists, the most at the peak first: few in any case, and up to
// most while each exceeds a share of the heaviest. The others are added up.
type listing struct{ few, most, share int }

// divided is memory for divide, used again for each window.
type divided struct {
	stacks            *stackTable
	all, listed, rest []doneTally
	// at is the index in all of each stack's tally, by the stack's place in the table, from 1. Place 0 is for stacks
	// that are not in the table. An entry is valid only in the turn that it names.
	at   []turnedAt
	turn uint32
}

type turnedAt struct{ turn, at uint32 }

// sameLines adds up the tallies of the same lines, the most at the peak first.
func (dv *divided) sameLines(tallies []doneTally) []doneTally {
	table := dv.stacks
	if dv.turn++; dv.turn == 0 || len(dv.at) <= len(table.stacks) {
		dv.at, dv.turn = make([]turnedAt, len(table.stacks)+len(table.stacks)/4+1), 1
	}
	out := dv.all[:0]
	for _, y := range tallies {
		place := table.place(y.stack) // 0 where there was no stack, it was not walked, or it was lost
		before := &dv.at[place]
		if before.turn == dv.turn {
			out[before.at].add(&y)
			continue
		}
		*before = turnedAt{dv.turn, uint32(len(out))}
		if y.stack = 0; place > 0 {
			y.stack = table.stacks[place-1].number
		}
		out = append(out, y)
	}
	dv.all = out
	slices.SortFunc(out, heavier)
	return out
}

// divide splits the tallies that a window kept into those that a report lists, and the rest. The caller changes
// neither, and both are valid until the next call.
func (dv *divided) divide(l listing, s *settled) (listed, rest []doneTally) {
	if s.isShort {
		return s.tallies, nil
	}
	listed, rest = dv.listed[:0], dv.rest[:0]
	for i, y := range dv.sameLines(s.tallies) {
		if l.lists(i, y, s.heaviest) {
			listed = append(listed, y)
		} else {
			rest = append(rest, y)
		}
	}
	dv.listed, dv.rest = listed, rest
	return listed, rest
}

// lists reports whether the i-th heaviest tally is listed.
func (l listing) lists(i int, y doneTally, heaviest event.Bytes) bool {
	return i < l.few || i < l.most && max(y.atPeak, y.allocated) > heaviest/event.Bytes(l.share)
}

// maxListed limits the listed groups of blocks that are left, the most bytes first.
const maxListed = 1000

var (
	listingOfSession   = listing{few: 1000, most: 1000, share: 1} // and of experiments
	listingOfCell      = listing{few: 20, most: 80, share: 1000}
	listingOfStatement = listing{few: 3, most: 8, share: 100}
)
