package windows

import (
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
)

// Forget has the stacks of some meters hold nothing.
func (w *Window) Forget(which func(event.Meter) bool) {
	for m, all := range w.Tallies {
		if which(m) {
			for _, y := range all.ByStack {
				y.Held = 0
			}
		}
	}
}

// Keeps returns the number of stacks of each meter that a window keeps.
func (w *Window) Keeps() int {
	switch w.Kind {
	case KindStatement:
		return stacks.MaxKeptOfStatement
	case KindCell:
		return stacks.MaxKeptOfCell
	}
	return stacks.MaxKept
}

// Listing returns which allocations a window lists.
func (w *Window) Listing() stacks.Listing {
	switch w.Kind {
	case KindCell:
		return stacks.ListingOfCell
	case KindStatement:
		return stacks.ListingOfStatement
	}
	return stacks.ListingOfSession
}
