package attribution

import (
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

func (ac *activity) openStatement(p *process, b *event.Boundary) {
	cell := ac.table.running[b.Cell]
	if cell == nil {
		return
	}
	if late := cell.statement; late != nil { // its end was refused
		late.status = model.Incomplete
		late.loosen(words.EndRefused)
		ac.windows.close(late, b)
	}
	w := ac.windows.open(p, b, kindStatement, cell)
	w.line = int(b.Line)
	cell.lastLine = max(cell.lastLine, w.line)
	cell.statement = w
}

func (ac *activity) closeStatement(b *event.Boundary, status string) {
	cell := ac.table.running[b.Cell]
	if cell == nil || cell.statement == nil {
		return
	}
	cell.statement.status = status
	ac.windows.close(cell.statement, b)
	cell.statement = nil
}

// cutShort closes the running statements of a tree when their probes are stepped down: their ends are not seen any
// more. Each window has the part of its statement that was seen, so its figures are lower bounds.
func (ac *activity) cutShort(r *root, b *event.Boundary) {
	var running []*window
	for _, w := range r.open {
		if w.isOpen && w.kind == kindStatement && w.parent != nil && w.parent.statement == w {
			running = append(running, w)
		}
	}
	for _, w := range running {
		at := b
		if w.process.info.PID != b.PID {
			at = ac.processes.now(w.process)
		}
		w.status = model.Incomplete
		w.loosen(words.EndUnwatched)
		ac.windows.close(w, at)
		w.parent.statement = nil
		w.endsAnywhere()
	}
}
