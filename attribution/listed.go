package attribution

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// listing says how many allocations of a meter are listed in a window, the most at the peak first: so few in any case,
// more of them only if they have a share of the heaviest, and so many at most. What is not listed is added up.
type listing struct{ few, most, share int }

// divided is memory to divide in, window by window.
type divided struct {
	stacks            *stackTable
	all, listed, rest []doneTally
	// at is where in all the tally of each stack is, by the stack's place in the table, from 1; of 0 those that are not
	// there. It is of the turn it says, and of no other.
	at   []turnedAt
	turn uint32
}

type turnedAt struct{ turn, at uint32 }

// sameLines adds up what is of the same lines, the most at the peak first.
func (dv *divided) sameLines(tallies []doneTally) []doneTally {
	table := dv.stacks
	if dv.turn++; dv.turn == 0 || len(dv.at) <= len(table.stacks) {
		dv.at, dv.turn = make([]turnedAt, len(table.stacks)+len(table.stacks)/4+1), 1
	}
	out := dv.all[:0]
	for _, y := range tallies {
		place := table.place(y.stack) // 0 where there was none, it was not walked, or it was lost
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

// divide parts what a window has kept into what a report lists, and the rest. Neither is to be changed, and both go
// when it is called again.
func (dv *divided) divide(w *window, s *settled) (listed, rest []doneTally) {
	if s.isShort {
		return s.tallies, nil
	}
	listed, rest = dv.listed[:0], dv.rest[:0]
	for i, y := range dv.sameLines(s.tallies) {
		if w.lists(i, y, s.heaviest) {
			listed = append(listed, y)
		} else {
			rest = append(rest, y)
		}
	}
	dv.listed, dv.rest = listed, rest
	return listed, rest
}

func compareAllocations(x, y model.Allocation) int {
	if c := cmp.Or(cmp.Compare(y.AtPeak, x.AtPeak), cmp.Compare(y.Allocated, x.Allocated),
		cmp.Compare(x.Meter, y.Meter)); c != 0 {
		return c
	}
	if c := slices.CompareFunc(x.Stack, y.Stack, orderFrames); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(y.Freed, x.Freed), cmp.Compare(y.Count, x.Count))
}

// lists says whether a window lists what is the i-th heaviest.
func (w *window) lists(i int, y doneTally, heaviest event.Bytes) bool {
	l := listingOfSession
	switch w.kind {
	case kindCell:
		l = listingOfCell
	case kindStatement:
		l = listingOfStatement
	}
	return i < l.few || i < l.most && max(y.atPeak, y.allocated) > heaviest/event.Bytes(l.share)
}

// maxListed is how many groups of blocks that are left are listed, the most bytes first.
const maxListed = 1000

var (
	listingOfSession   = listing{few: 1000, most: 1000, share: 1} // and of experiments
	listingOfCell      = listing{few: 20, most: 80, share: 1000}
	listingOfStatement = listing{few: 3, most: 8, share: 100}
)
