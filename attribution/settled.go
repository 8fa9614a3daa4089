package attribution

import (
	"cmp"

	"ipytracer/event"
)

// A window that is open knows of every stack what it did; one that is over needs what a report can show of it. So a
// session's memory goes by what is open, not by how many windows there were.

// settled is what is left of a window's tallies of one meter once nothing can change them any more.
type settled struct {
	tallies []doneTally // the most at the peak first
	// rest is what is not in tallies: how many stacks, and what they add up to.
	rest     doneTally
	stacks   int
	known    event.Bytes // at the peak, of all stacks
	net      event.Bytes // of all stacks
	heaviest event.Bytes // at the peak or allocated, of one stack
	sampled  event.Bytes // of known, what samples stand for
	isShort  bool        // tallies are what a report lists, and the rest of them is in rest
}

// doneTally is a tally without what counting needs.
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

// How many stacks a window keeps of each meter, the most at the peak first.
const (
	maxKept            = 1000
	maxKeptOfCell      = 300
	maxKeptOfStatement = 50
)

// maxStanding is how many stacks of a meter are kept of what stood: as many as a cell lists in any case, and some more
// of the same lines.
const maxStanding = 64
