package attribution

import (
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
)

func (w *window) forget(which func(event.Meter) bool) {
	for m, all := range w.tallies {
		if which(m) {
			for _, y := range all.ByStack {
				y.Held = 0
			}
		}
	}
}

// keeps returns the number of stacks of each meter that a window keeps.
func (w *window) keeps() int {
	switch w.kind {
	case kindStatement:
		return stacks.MaxKeptOfStatement
	case kindCell:
		return stacks.MaxKeptOfCell
	}
	return stacks.MaxKept
}

// listing returns which allocations a window lists.
func (w *window) listing() stacks.Listing {
	switch w.kind {
	case kindCell:
		return stacks.ListingOfCell
	case kindStatement:
		return stacks.ListingOfStatement
	}
	return stacks.ListingOfSession
}
