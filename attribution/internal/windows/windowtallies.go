package windows

import (
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
)

// ClearHeld sets to 0 the bytes that the stacks of some meters hold.
func (w *Window) ClearHeld(which func(event.Meter) bool) {
	for m, all := range w.Tallies {
		if which(m) {
			for _, y := range all.ByStack {
				y.Held = 0
			}
		}
	}
}

// MaxStacks returns the largest number of stacks of each meter that a window keeps.
func (w *Window) MaxStacks() int {
	switch w.Kind {
	case KindStatement:
		return stacks.MaxKeptOfStatement
	case KindCell:
		return stacks.MaxKeptOfCell
	}
	return stacks.MaxKept
}

// Listing returns the rule that selects the allocations that a window lists.
func (w *Window) Listing() stacks.Listing {
	switch w.Kind {
	case KindCell:
		return stacks.ListingOfCell
	case KindStatement:
		return stacks.ListingOfStatement
	}
	return stacks.ListingOfSession
}
