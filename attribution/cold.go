package attribution

import (
	"ipytracer/event"
)

// A long session has many stacks that did something once and hold nothing any more: each run of a cell has stacks of
// its own. Only the sums of these are needed. They are kept in 24 bytes a stack, and come back unchanged if the stack
// appears again.

// cold are the sums of a window's stacks that hold nothing and held nothing at its peak, by their places in the table
// of stacks.
type cold struct {
	pages map[uint32]*[coldPage]coldTally
	count int
}

const coldPage = 1 << 8

// coldTally are the sums of one stack.
type coldTally struct {
	allocated, freed event.Bytes
	count            int64
}

// of returns the sums of the stack at a place.
func (c *cold) of(place uint32) coldTally {
	if page := c.pages[place/coldPage]; page != nil {
		return page[place%coldPage]
	}
	return coldTally{}
}

func (c *cold) add(place uint32, y coldTally) {
	if c.pages == nil {
		c.pages = map[uint32]*[coldPage]coldTally{}
	}
	page := c.pages[place/coldPage]
	if page == nil {
		page = &[coldPage]coldTally{}
		c.pages[place/coldPage] = page
	}
	one := &page[place%coldPage]
	if *one == (coldTally{}) {
		c.count++
	}
	one.allocated += y.allocated
	one.freed += y.freed
	one.count += y.count
}

func (c *cold) clone() cold {
	out := cold{count: c.count}
	for at, page := range c.pages {
		if out.pages == nil {
			out.pages = make(map[uint32]*[coldPage]coldTally, len(c.pages))
		}
		copied := *page
		out.pages[at] = &copied
	}
	return out
}
