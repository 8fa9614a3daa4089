package attribution

import (
	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/model/words"
)

// cutShort closes the statements of a tree that run when their probes are stepped down: nobody looks for their ends
// any more. Each window has what was seen of its statement, so its figures are lower bounds.
func cutShort(t *Tracker, r *root, b *event.Boundary) {
	var running []*window
	for _, w := range r.open {
		if w.isOpen && w.kind == kindStatement && w.parent != nil && w.parent.statement == w {
			running = append(running, w)
		}
	}
	for _, w := range running {
		at := b
		if w.process.info.PID != b.PID {
			at = t.processes.now(w.process)
		}
		w.status = model.Incomplete
		w.loosen(words.EndUnwatched)
		t.closeWindow(w, at)
		w.parent.statement = nil
		w.endsAnywhere()
	}
}

// endsAnywhere says of a window that is over that its meters may have ended at any value: of the peak it is not
// certain that anything went after it.
func (w *window) endsAnywhere() {
	all := []figures{w.own, w.tree}
	for i := range w.children {
		all = append(all, w.children[i].figures)
	}
	for _, one := range all {
		for i := range one {
			one[i].end = one[i].highest()
		}
	}
}
