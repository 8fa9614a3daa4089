package stacks

import (
	"ipytracer/event"
)

// A long session has many stacks that did something once and hold nothing any more: each run of a cell has stacks of
// its own. Such a stack keeps only its sums, in 24 bytes. If the stack allocates again, the sums are added to its
// tally.

// idleTallies are the sums of a window's stacks that hold nothing and held nothing at its peak, by their places in the
// table of stacks. They are in pages of idlePage places.
type idleTallies struct {
	pages map[uint32]*[idlePage]idleTally
	Count int // number of sums that are not 0
}

const idlePage = 1 << 8

// idleTally are the sums of one stack.
type idleTally struct {
	allocated, freed event.Bytes
	count            int64
}

// of returns the sums of the stack at a place.
func (c *idleTallies) of(place uint32) idleTally {
	if page := c.pages[place/idlePage]; page != nil {
		return page[place%idlePage]
	}
	return idleTally{}
}

func (c *idleTallies) add(place uint32, y idleTally) {
	if c.pages == nil {
		c.pages = map[uint32]*[idlePage]idleTally{}
	}
	page := c.pages[place/idlePage]
	if page == nil {
		page = &[idlePage]idleTally{}
		c.pages[place/idlePage] = page
	}
	tally := &page[place%idlePage]
	if *tally == (idleTally{}) {
		c.Count++
	}
	tally.allocated += y.allocated
	tally.freed += y.freed
	tally.count += y.count
}

func (c *idleTallies) clone() idleTallies {
	out := idleTallies{Count: c.Count}
	for at, page := range c.pages {
		if out.pages == nil {
			out.pages = make(map[uint32]*[idlePage]idleTally, len(c.pages))
		}
		copied := *page
		out.pages[at] = &copied
	}
	return out
}
