package stacks

import (
	"ipytracer/event"
)

// A long session has many stacks that did something once and hold nothing any more: each run of a cell has stacks of
// its own. Only the sums of these are needed. They are kept in 24 bytes a stack, and come back unchanged if the stack
// appears again.

// idleTallies are the sums of a window's stacks that hold nothing and held nothing at its peak, by their places in the
// table of stacks.
type idleTallies struct {
	pages map[uint32]*[idlePage]idleTally
	Count int
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
	one := &page[place%idlePage]
	if *one == (idleTally{}) {
		c.Count++
	}
	one.allocated += y.allocated
	one.freed += y.freed
	one.count += y.count
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
