package notebook

import (
	"slices"

	"ipytracer/model"
)

// summit returns the highest moment. If memory rose by next to nothing in its cell, the advice must be about an earlier
// cell: summit then returns the moment of the last cell in which the memory rose, gives this moment the peak's height,
// and moves it to the front of highest.
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

// risenIn returns the last cell before top in which the memory of top rose. It returns nil if the memory rose in top's
// own cell, or if the memory of earlier cells was freed in between.
func (n *Notebook) risenIn(top *Moment) *Cell {
	least := top.Peak / nextToNothing
	figure, from := model.Figure{Start: top.Start, Peak: top.Peak}, len(n.Cells)
	if top.Cell != nil {
		figure, _ = n.Figure(top.Cell.Window)
		from = top.Cell.Index
	}
	for i := from - 1; i >= 0 && figure.Need() < least; i-- {
		c := n.Cells[i]
		if c.First > top.Order {
			continue
		}
		if figure.Start < top.Peak-least {
			return nil
		}
		figure, _ = n.Figure(c.Window)
		switch {
		case figure.End < top.Peak-least: // memory fell behind this cell
			return nil
		case figure.Need() >= least:
			return c
		}
	}
	return nil
}

// nextToNothing divides a peak: a difference below this share decides nothing.
const nextToNothing = 100
