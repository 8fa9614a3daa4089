package attribution

import (
	"cmp"

	"ipytracer/event"
)

// An open window keeps the tally of every stack; a closed one keeps only what a report can show of it. So the memory of
// a session depends on its open windows, not on the number of all its windows.

// settled is what is left of a window's tallies of one meter once nothing can change them any more.
type settled struct {
	tallies []doneTally // the most at the peak first
	// rest sums up the stacks that are not in tallies, with their count.
	rest     doneTally
	stacks   int
	known    event.Bytes // at the peak, of all stacks
	net      event.Bytes // of all stacks
	heaviest event.Bytes // at the peak or allocated, of one stack
	sampled  event.Bytes // the part of known that samples stand for
	isShort  bool        // tallies are those that a report lists, and the others are in rest
}

// doneTally is a tally without the fields that only counting needs.
type doneTally struct {
	stack            uint64
	allocated, freed event.Bytes
	count            int64
	atPeak           event.Bytes
	sampled          bool // some of it is estimated from samples
}

func (y *doneTally) add(of *doneTally) {
	y.allocated += of.allocated
	y.freed += of.freed
	y.atPeak += of.atPeak
	y.count += of.count
	y.sampled = y.sampled || of.sampled
}

func heavier(x, y doneTally) int {
	return cmp.Or(cmp.Compare(y.atPeak, x.atPeak), cmp.Compare(y.allocated, x.allocated), cmp.Compare(x.stack, y.stack))
}

// Number of stacks that a window keeps of each meter, the most at the peak first.
const (
	maxKept            = 1000
	maxKeptOfCell      = 300
	maxKeptOfStatement = 50
)

// maxStanding is the number of stacks of a meter that are kept of the blocks that stood: as many as a cell lists in any
// case, and some more of the same lines.
const maxStanding = 64
