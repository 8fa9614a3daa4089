package text

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"ipytracer/model"
	"ipytracer/model/words"
)

// A report may have hundreds of thousands of windows. The text goes through them once and keeps of each cell a line's worth; what it
// shows in full it asks for again.

// brief is what is kept of a window that is no statement.
type brief struct {
	id, parent, pid, execution int
	kind, label, failure       string
	name                       string // what a cell is called where it has a row: its In[N], or its first line
	kernel                     string // where the session has several
	silent, counted            bool   // counted: it has an In[N]
	weight                     int64
	statements                 int // that have a row where it is shown line by line
	last                       int // the id of the last of them
}

// survey is what going through all windows tells.
type survey struct {
	cells    []*brief // heaviest first
	byID     map[int]*brief
	byRun    map[run][]int                   // the ids of cells
	labels   map[string]int                  // how many cells have a name
	pids     map[int]bool                    // the processes that run cells
	sessions map[int]map[string]model.Figure // by process
	ends     map[int]ending                  // the last cell of each process
	marked   bool                            // there are experiments
	length   int64                           // of the session
	bad      int                             // cells that did not end ok
	moving   map[string]bool                 // meters that moved in a cell, or between cells
	off      map[string]int64                // by how much figures that are not exact can be off
	unknown  map[string]bool                 // meters with figures of which nobody can say
	vague    map[string]bool                 // meters with figures that can be off by more than there is of them
	idle     map[int]int64                   // children that took next to nothing, with their highest peak
	kept     map[int]*model.Window           // windows that were asked for again
	rows     map[int][]model.Window          // statements, by cell
	// several: more than one process runs cells, so rows must say which.
	several bool
}

// isTyped reports whether a cell has an In[N]: somebody typed it.
func (s *survey) isTyped(id int) bool {
	b := s.byID[id]
	return b != nil && b.counted && !b.silent
}

// run is a run of a cell.
type run struct{ pid, execution int }

// ending is what a process had when a cell was over.
type ending struct{ at, weight, end, cached int64 }

// lookThrough goes through all windows.
func (v *view) lookThrough() {
	v.byID, v.byRun, v.labels, v.pids = map[int]*brief{}, map[run][]int{}, map[string]int{}, map[int]bool{}
	v.sessions, v.ends, v.moving, v.idle = map[int]map[string]model.Figure{}, map[int]ending{}, map[string]bool{}, map[int]int64{}
	v.off, v.unknown, v.kept, v.rows = map[string]int64{}, map[string]bool{}, map[int]*model.Window{}, map[int][]model.Window{}
	v.near.summits, v.vague = map[string]summit{}, map[string]bool{}
	waiting := map[int]int{} // statements of cells that come later: in reports from elsewhere
	for w := range v.r.AllPassing() {
		v.inexact(w.Meters)
		v.inexact(w.Tree)
		for _, c := range w.Children {
			v.inexact(c.Meters)
		}
		v.length = max(v.length, w.StartNS+w.DurationNS)
		if w.Kind != model.Statement {
			v.brief(w, waiting)
			continue
		}
		if w.Name != model.Hooks || v.moved(w.Meters) {
			if of := v.byID[w.Parent]; of != nil {
				of.statements++
				of.last = w.ID
			} else {
				waiting[w.Parent]++
			}
		}
	}
	slices.SortStableFunc(v.cells, func(a, b *brief) int { return cmp.Compare(b.weight, a.weight) })
	for _, p := range v.r.Processes {
		v.inexact(p.Meters)
	}
}

// brief keeps what is needed of a window.
func (v *view) brief(w *model.Window, waiting map[int]int) {
	b := &brief{
		id: w.ID, parent: w.Parent, pid: w.PID, execution: w.Execution, kind: w.Kind, label: label(*w), failure: w.Error, kernel: strings.Clone(w.Kernel), silent: w.Silent,
		counted: w.ExecutionCount != nil, statements: waiting[w.ID],
	}
	v.byID[w.ID] = b
	switch w.Kind {
	case model.Experiment:
		v.marked = true
	case model.Session:
		if v.sessions[w.PID] == nil {
			v.sessions[w.PID] = maps.Clone(w.Meters)
		}
	case model.Cell:
		b.weight = v.weight(*w)
		v.cell(w, b)
	}
}

// cell takes in a cell.
func (v *view) cell(w *model.Window, b *brief) {
	b.name = nameOf(w)
	v.labels[b.name+words.OfKernel(b.kernel)]++
	v.pids[w.PID] = true
	v.cells = append(v.cells, b)
	v.several = v.several || w.PID != v.cells[0].pid
	v.byRun[run{w.PID, w.Execution}] = append(v.byRun[run{w.PID, w.Execution}], w.ID)
	if w.Status != model.OK {
		v.bad++
	}
	if len(v.meters) > 0 {
		at := w.StartNS + w.DurationNS
		if last, known := v.ends[w.PID]; !known || at > last.at || at == last.at && b.weight > last.weight {
			v.ends[w.PID] = ending{at, b.weight, w.Meters[v.meters[0]].End, memory(v.first()).cached(w.Meters)}
		}
	}
	v.moves(w.Meters)
	v.near.rose(w.Together, b, nil)
	own := w.Meters[v.first()]
	s := stretch{id: w.ID, pid: w.PID, need: b.weight, start: w.StartNS, peak: v.highestOf(w), from: own.Start, kept: own.Consumed}
	for _, c := range w.Children {
		if v.needOf(c.Meters) >= worthAGap {
			s.took = append(s.took, taker{c.PID, c.Meters[v.first()].Peak, v.needOf(c.Meters)})
		} else {
			v.idle[c.PID] = max(v.idle[c.PID], c.Meters[v.first()].Peak)
		}
	}
	v.ranked = append(v.ranked, s)
}

// highestOf is the peak of the meter that ranks, with children where that is more.
func (v *view) highestOf(w *model.Window) int64 {
	own := w.Meters[v.first()].Peak
	if f, ok := w.Together(v.first()); ok {
		return max(f.Peak, own)
	}
	return own
}

// moves notes which meters moved.
func (v *view) moves(figures map[string]model.Figure) {
	for _, id := range v.meters {
		if figures[id].Need() != 0 {
			v.moving[id] = true
		}
	}
}

// inexact notes by how much figures can be off.
func (v *view) inexact(figures map[string]model.Figure) {
	for id, f := range figures {
		switch {
		case f.Exact:
		case f.Bound == nil:
			v.unknown[id] = true
		default:
			v.off[id] = max(v.off[id], *f.Bound)
			v.vague[id] = v.vague[id] || model.Vague(f.Peak, f.Bound) || *f.Bound >= worthAGap && f.Need() != 0 && model.Vague(f.Need(), f.Bound)
		}
	}
}

// window is a window by its id, kept from then on.
func (v *view) window(id int) *model.Window {
	w := v.kept[id]
	if w == nil {
		w = v.fetch(id)
		v.kept[id] = w
	}
	return w
}

// fetch is a window by its id.
func (v *view) fetch(id int) *model.Window {
	if w := v.kept[id]; w != nil {
		return w
	}
	if v.r.Find != nil {
		if w, ok := v.r.Find(id); ok {
			return &w
		}
		return &model.Window{}
	}
	for w := range v.r.All() {
		if w.ID == id && w.Kind != model.Statement {
			one := *w
			return &one
		}
	}
	return &model.Window{}
}

// statementsOf are the statements of cells, by the cell's id.
func (v *view) statementsOf(wanted map[int]bool) map[int][]model.Window {
	missing := map[int]bool{}
	for id := range wanted {
		if _, known := v.rows[id]; !known {
			v.rows[id], missing[id] = nil, true
		}
	}
	take := func(w *model.Window) {
		if w.Kind == model.Statement && missing[w.Parent] && (w.Name != model.Hooks || v.moved(w.Meters)) {
			v.rows[w.Parent] = append(v.rows[w.Parent], *w)
		}
	}
	if v.r.Since != nil {
		for id := range missing {
			v.takeWithin(id, take)
		}
	} else if len(missing) > 0 {
		for w := range v.r.All() {
			take(w)
		}
	}
	of := map[int][]model.Window{}
	for id := range wanted {
		of[id] = v.rows[id]
	}
	return of
}

// takeWithin goes through the windows from a cell to its last statement.
func (v *view) takeWithin(id int, take func(*model.Window)) {
	of := v.byID[id]
	if of == nil {
		return
	}
	for w := range v.r.Since(id) {
		if w.ID > of.last {
			return
		}
		if w.Parent == id {
			take(w)
		}
	}
}
