package text

import "ipytracer/model"

// stretch is an item of the ranking: a cell, or the time between two. Cell, gap and figures are set if it is shown.
type stretch struct {
	id, at  int // of the cell; the number of the time between cells
	cell    *model.Window
	gap     *model.Between
	pid     int
	label   string
	start   int64
	peak    int64   // of the ranking meter, with children if that is more
	from    int64   // its own at the start
	top     int64   // its own peak
	need    int64   // of it: the process's own or, if that is more, with its children
	took    []taker // children that took memory in it
	figures map[string]model.Figure
}

// tree returns the figures with children, where they differ. Only shown stretches have them.
func (s *stretch) tree() map[string]model.Figure {
	switch {
	case s.cell != nil:
		return s.cell.Tree
	case s.gap != nil:
		return s.gap.Tree
	}
	return nil
}

// taker is a child that took memory in a cell, with its peak and its need.
type taker struct {
	pid        int
	peak, need int64
}
