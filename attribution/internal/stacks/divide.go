package stacks

import (
	"slices"

	"ipytracer/event"
)

// Listing sets how many allocations of a meter a window lists, the most at the peak first: few in any case, and up to
// most while each exceeds a share of the heaviest. The others are added up.
type Listing struct{ few, most, share int }

// Merger is memory for divide, used again for each window.
type Merger struct {
	Stacks            *Table
	all, listed, rest []Sum
	// at is the index in all of each stack's tally, by the stack's place in the table, from 1. Place 0 is for stacks
	// that are not in the table. An entry is valid only in the turn that it names.
	at   []turnedAt
	turn uint32
}

type turnedAt struct{ turn, at uint32 }

// SameLines adds up the tallies of the same lines, the most at the peak first.
func (dv *Merger) SameLines(tallies []Sum) []Sum {
	table := dv.Stacks
	if dv.turn++; dv.turn == 0 || len(dv.at) <= len(table.Stacks) {
		dv.at, dv.turn = make([]turnedAt, len(table.Stacks)+len(table.Stacks)/4+1), 1
	}
	out := dv.all[:0]
	for _, y := range tallies {
		place := table.Place(y.Stack) // 0 where there was no stack, it was not walked, or it was lost
		before := &dv.at[place]
		if before.turn == dv.turn {
			out[before.at].add(&y)
			continue
		}
		*before = turnedAt{dv.turn, uint32(len(out))}
		if y.Stack = 0; place > 0 {
			y.Stack = table.Stacks[place-1].Number
		}
		out = append(out, y)
	}
	dv.all = out
	slices.SortFunc(out, heavier)
	return out
}

// Divide splits the tallies that a window kept into those that a report lists, and the rest. The caller changes
// neither, and both are valid until the next call.
func (dv *Merger) Divide(l Listing, s *Summary) (listed, rest []Sum) {
	if s.IsShort {
		return s.Tallies, nil
	}
	listed, rest = dv.listed[:0], dv.rest[:0]
	for i, y := range dv.SameLines(s.Tallies) {
		if l.lists(i, y, s.Heaviest) {
			listed = append(listed, y)
		} else {
			rest = append(rest, y)
		}
	}
	dv.listed, dv.rest = listed, rest
	return listed, rest
}

// lists reports whether the i-th heaviest tally is listed.
func (l Listing) lists(i int, y Sum, heaviest event.Bytes) bool {
	return i < l.few || i < l.most && max(y.AtPeak, y.Allocated) > heaviest/event.Bytes(l.share)
}

// MaxListed limits the listed groups of blocks that are left, the most bytes first.
const MaxListed = 1000

var (
	ListingOfSession   = Listing{few: 1000, most: 1000, share: 1} // and of experiments
	ListingOfCell      = Listing{few: 20, most: 80, share: 1000}
	ListingOfStatement = Listing{few: 3, most: 8, share: 100}
)
