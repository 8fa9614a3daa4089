package stacks

import (
	"cmp"

	"ipytracer/event"
)

// An open window keeps the tally of every stack; a closed one keeps only what a report can show of it. So the memory of
// a session depends on its open windows, not on the number of all its windows.

// Summary is what is left of a window's tallies of one meter once nothing can change them any more.
type Summary struct {
	Tallies []Sum // the most at the peak first
	// Rest sums up the stacks that are not in tallies, with their count.
	Rest     Sum
	Stacks   int
	Known    event.Bytes // at the peak, of all stacks
	Net      event.Bytes // of all stacks
	Heaviest event.Bytes // at the peak or allocated, of one stack
	Sampled  event.Bytes // the part of known that samples stand for
	IsShort  bool        // tallies are those that a report lists, and the others are in rest
}

// Sum is a tally without the fields that only counting needs.
type Sum struct {
	Stack            uint64
	Allocated, Freed event.Bytes
	Count            int64
	AtPeak           event.Bytes
	Sampled          bool // some of it is estimated from samples
}

func (y *Sum) add(of *Sum) {
	y.Allocated += of.Allocated
	y.Freed += of.Freed
	y.AtPeak += of.AtPeak
	y.Count += of.Count
	y.Sampled = y.Sampled || of.Sampled
}

func heavier(x, y Sum) int {
	return cmp.Or(cmp.Compare(y.AtPeak, x.AtPeak), cmp.Compare(y.Allocated, x.Allocated), cmp.Compare(x.Stack, y.Stack))
}

// Number of stacks that a window keeps of each meter, the most at the peak first.
const (
	MaxKept            = 1000
	MaxKeptOfCell      = 300
	MaxKeptOfStatement = 50
)

// maxStanding is the number of stacks of a meter that are kept of the blocks that stood: as many as a cell lists in any
// case, and some more of the same lines.
const maxStanding = 64
