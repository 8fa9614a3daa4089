package activity

import (
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// OpenStatement begins a statement of a cell.
func (ac *Activity) OpenStatement(process *windows.Process, boundary *event.Boundary) {
	cell := ac.Table.Running[boundary.Cell]
	if cell == nil {
		return
	}
	if unended := cell.Statement; unended != nil { // the record of its end found no room
		unended.Status = model.Incomplete
		unended.Loosen(words.EndRefused)
		ac.Windows.close(unended, boundary)
	}
	w := ac.Windows.Open(process, boundary, windows.KindStatement, cell)
	w.Line = int(boundary.Line)
	cell.LastLine = max(cell.LastLine, w.Line)
	cell.Statement = w
}

// CloseStatement ends the running statement of a cell.
func (ac *Activity) CloseStatement(boundary *event.Boundary, status string) {
	cell := ac.Table.Running[boundary.Cell]
	if cell == nil || cell.Statement == nil {
		return
	}
	cell.Statement.Status = status
	ac.Windows.close(cell.Statement, boundary)
	cell.Statement = nil
}

// CloseStatements closes the running statements of a tree when their probes are paused, because their ends are not seen
// any more. Their windows have only the part that was seen, so the figures are lower bounds.
func (ac *Activity) CloseStatements(tree *windows.Tree, boundary *event.Boundary) {
	var running []*windows.Window
	for _, w := range tree.Open {
		if w.IsOpen && w.Kind == windows.KindStatement && w.Parent != nil && w.Parent.Statement == w {
			running = append(running, w)
		}
	}
	for _, window := range running {
		end := boundary
		if window.Process.Info.PID != boundary.PID {
			end = ac.Processes.Now(window.Process)
		}
		window.Status = model.Incomplete
		window.Loosen(words.EndUnwatched)
		ac.Windows.close(window, end)
		window.Parent.Statement = nil
		window.RaiseEnds()
	}
}
