package activity

import (
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

func (ac *Activity) OpenStatement(p *windows.Process, b *event.Boundary) {
	cell := ac.Table.Running[b.Cell]
	if cell == nil {
		return
	}
	if late := cell.Statement; late != nil { // its end was refused
		late.Status = model.Incomplete
		late.Loosen(words.EndRefused)
		ac.Windows.close(late, b)
	}
	w := ac.Windows.Open(p, b, windows.KindStatement, cell)
	w.Line = int(b.Line)
	cell.LastLine = max(cell.LastLine, w.Line)
	cell.Statement = w
}

func (ac *Activity) CloseStatement(b *event.Boundary, status string) {
	cell := ac.Table.Running[b.Cell]
	if cell == nil || cell.Statement == nil {
		return
	}
	cell.Statement.Status = status
	ac.Windows.close(cell.Statement, b)
	cell.Statement = nil
}

// CutShort closes the running statements of a tree when their probes are paused: their ends are not seen any
// more. Each window has the part of its statement that was seen, so its figures are lower bounds.
func (ac *Activity) CutShort(r *windows.Tree, b *event.Boundary) {
	var running []*windows.Window
	for _, w := range r.Open {
		if w.IsOpen && w.Kind == windows.KindStatement && w.Parent != nil && w.Parent.Statement == w {
			running = append(running, w)
		}
	}
	for _, w := range running {
		at := b
		if w.Process.Info.PID != b.PID {
			at = ac.Processes.Now(w.Process)
		}
		w.Status = model.Incomplete
		w.Loosen(words.EndUnwatched)
		ac.Windows.close(w, at)
		w.Parent.Statement = nil
		w.EndsAnywhere()
	}
}
