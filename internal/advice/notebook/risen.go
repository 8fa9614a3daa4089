package notebook

import (
	"slices"

	"ipytracer/model"
)

// summit returns the highest moment. If memory rose by next to nothing in its cell, it is that of the last cell before
// with the rest of the rise, whose memory is still there: this moment has the height then.
func (n *Notebook) summit() *Moment {
	top := n.highest[0]
	cell := n.risenIn(top)
	if cell == nil {
		return top
	}
	at := slices.IndexFunc(n.highest, func(m *Moment) bool { return m.Cell == cell })
	if at < 0 {
		return top
	}
	m := n.highest[at]
	m.Peak = top.Peak
	n.highest = slices.Insert(slices.Delete(n.highest, at, at+1), 0, m)
	return m
}

// risenIn goes back from a moment to the cell in which its memory rose; nil if it rose there, or if no such cell has
// memory that is still there.
func (n *Notebook) risenIn(top *Moment) *Cell {
	least := top.Peak / nextToNothing
	rose, from := model.Figure{Start: top.Start, Peak: top.Peak}, len(n.Cells)
	if top.Cell != nil {
		rose, _ = n.Figure(top.Cell.Window)
		from = top.Cell.Index
	}
	for i := from - 1; i >= 0 && rose.Need() < least; i-- {
		c := n.Cells[i]
		if c.First > top.Order {
			continue
		}
		if rose.Start < top.Peak-least {
			return nil
		}
		rose, _ = n.Figure(c.Window)
		switch {
		case rose.End < top.Peak-least: // it fell behind this cell
			return nil
		case rose.Need() >= least:
			return c
		}
	}
	return nil
}

// nextToNothing is the share of a peak, one in so many, that decides nothing.
const nextToNothing = 100
