package attribution

import (
	"strings"

	"ipytracer/event"
)

// source gives a cell its text. It may come a while after the cell's end.
func (ac *activity) source(e *event.CellSource) {
	w := ac.cells[e.Cell]
	if w == nil {
		w = ac.closed.cells[e.Cell]
	}
	if w == nil || w.slot == 0 {
		return
	}
	text, whole := ac.texts.keep(e.Text)
	w.source, w.truncated = text, e.Truncated || !whole
	if w.lines = 0; !w.truncated && e.Text != "" {
		typed := strings.TrimRight(e.Text, "\r\n")
		w.lines = 1 + strings.Count(typed, "\n") + strings.Count(typed, "\r") - strings.Count(typed, "\r\n")
	}
}

// lineOf is a line of a cell, 0 where it has none such: one that its text has not is of something else.
func (w *window) lineOf(line int) int {
	if w != nil && w.lines > 0 && line > w.lines {
		return 0
	}
	return line
}
