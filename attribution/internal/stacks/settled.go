package stacks

import (
	"cmp"
	"slices"

	"ipytracer/event"
)

// An open window keeps the tally of every stack; a closed one keeps only what a report can show of it. So the memory of
// a session depends on its open windows, not on the number of all its windows.

// Summary replaces a window's tallies of one meter once nothing can change them any more.
type Summary struct {
	Tallies  []Sum       // the heaviest stacks in descending order
	Rest     Sum         // the sum of the stacks that are not in Tallies
	Stacks   int         // number of stacks in Rest
	Known    event.Bytes // bytes that all stacks held at the peak
	Net      event.Bytes // bytes that all stacks allocated, less those that they freed
	Heaviest event.Bytes // the most that one stack held at the peak or allocated
	Sampled  event.Bytes // the part of Known that samples stand for
	// SampledError is an upper bound of the standard error of Sampled.
	SampledError event.Bytes
	IsShort      bool // Tallies has only the stacks that a report lists
}

// Sum is a tally without the fields that only counting needs.
type Sum struct {
	Stack            uint64
	Allocated, Freed event.Bytes
	Count            int64
	AtPeak           event.Bytes
	Sampled          bool // some of it is estimated from samples
}

func (y *Sum) add(other *Sum) {
	y.Allocated += other.Allocated
	y.Freed += other.Freed
	y.AtPeak += other.AtPeak
	y.Count += other.Count
	y.Sampled = y.Sampled || other.Sampled
}

// heavier orders sums by the bytes at the peak, in descending order, then by the bytes allocated.
func heavier(x, y Sum) int {
	if x.AtPeak != y.AtPeak { // most differ in it, and cmp.Or compares everything
		return cmp.Compare(y.AtPeak, x.AtPeak)
	}
	return cmp.Or(cmp.Compare(y.Allocated, x.Allocated), cmp.Compare(x.Stack, y.Stack))
}

// sortHeaviest sorts sums by [heavier]. Usually they are in that order.
func sortHeaviest(all []Sum) {
	for i := 1; i < len(all); i++ {
		if before, y := &all[i-1], &all[i]; before.AtPeak < y.AtPeak ||
			before.AtPeak == y.AtPeak && heavier(*before, *y) > 0 {
			slices.SortFunc(all, heavier)
			return
		}
	}
}

// Number of stacks that a window keeps of each meter, the heaviest.
const (
	MaxKept            = 1000
	MaxKeptOfCell      = 300
	MaxKeptOfStatement = 50
)

// maxStanding is the number of stacks that a window keeps of a meter that did not move in it: as many as a cell lists
// in any case, and some more because several stacks may have the same lines.
const maxStanding = 64
