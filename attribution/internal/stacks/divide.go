package stacks

import "ipytracer/event"

// Listing sets how many allocations of a meter a window lists. The heaviest few are listed in any case, and up to most
// if they exceed 1/share of the heaviest one. The others are added up.
type Listing struct{ few, most, share int }

// Merger merges and divides tallies, in memory that it uses again for each window.
type Merger struct {
	Stacks            *Table
	all, listed, rest []Sum
	// indexes is the index in all of each stack's tally, by the stack's place in the table, from 1. Place 0 is for
	// stacks that are not in the table. An entry is valid only in the turn that it names.
	indexes []turnIndex
	turn    uint32
}

type turnIndex struct{ turn, index uint32 }

// SameLines adds up the tallies of stacks with the same lines, and returns the sums, the heaviest first. The result is
// valid until the next call.
func (dv *Merger) SameLines(tallies []Sum) []Sum {
	table := dv.Stacks
	if dv.turn++; dv.turn == 0 || len(dv.indexes) <= len(table.Stacks) {
		dv.indexes, dv.turn = make([]turnIndex, len(table.Stacks)+len(table.Stacks)/4+1), 1
	}
	out := dv.all[:0]
	for _, y := range tallies {
		place := table.Place(y.Stack) // 0 where there was no stack, it was not walked, or it was lost
		entry := &dv.indexes[place]
		if entry.turn == dv.turn {
			out[entry.index].add(&y)
			continue
		}
		*entry = turnIndex{dv.turn, uint32(len(out))}
		if y.Stack = 0; place > 0 {
			y.Stack = table.Stacks[place-1].Number
		}
		out = append(out, y)
	}
	dv.all = out
	sortHeaviest(out)
	return out
}

// Divide splits the tallies that a window kept into the listed ones and the rest. The caller must not change them. Both
// are valid until the next call.
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
