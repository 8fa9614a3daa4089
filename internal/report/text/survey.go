package text

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// A report may have hundreds of thousands of windows. The text goes through them once and keeps a short form of each
// cell; it fetches the shown ones again.

// brief is the short form of a window that is no statement.
type brief struct {
	id, parent, pid, execution int
	kind, label, failure       string
	name                       string // the name of a cell in its row: its In[N], or its first line
	kernel                     string // if the session has several
	silent, counted            bool   // counted: it has an In[N]
	weight                     int64
	statements                 int // those with a row in the view line by line
	last                       int // the id of the last of them
}

// survey is the result of a pass through all windows.
type survey struct {
	*archive
	accuracy
	cells    []*brief                        // heaviest first
	byRun    map[run][]int                   // the ids of cells
	labels   map[string]int                  // the number of cells by name
	pids     map[int]bool                    // the processes that run cells
	sessions map[int]map[string]model.Figure // by process
	ends     map[int]ending                  // the last cell of each process
	marked   bool                            // there are experiments
	length   int64                           // of the session
	bad      int                             // cells that did not end ok
	moving   map[string]bool                 // meters that moved in a cell, or between cells
	idle     map[int]int64                   // children with almost no memory, with their highest peak
	// several: more than one process runs cells, so rows must name it.
	several bool
}

// newSurvey returns an empty survey of a report.
func newSurvey(r *model.Report, by scale) *survey {
	return &survey{
		archive: &archive{
			scale: by, r: r, byID: map[int]*brief{}, kept: map[int]*model.Window{}, rows: map[int][]model.Window{},
		},
		accuracy: accuracy{map[string]int64{}, map[string]bool{}, map[string]bool{}},
		byRun:    map[run][]int{}, labels: map[string]int{}, pids: map[int]bool{},
		sessions: map[int]map[string]model.Figure{}, ends: map[int]ending{}, moving: map[string]bool{},
		idle: map[int]int64{},
	}
}

// isTyped reports whether a cell has an In[N]: a user typed it.
func (s *survey) isTyped(id int) bool {
	b := s.byID[id]
	return b != nil && b.counted && !b.silent
}

// run is a run of a cell.
type run struct{ pid, execution int }

// ending is the state of a process at a cell's end.
type ending struct{ at, weight, end, cached int64 }

// lookThrough goes through all windows, and passes each cell on.
func (s *survey) lookThrough(cell func(*model.Window, *brief)) {
	waiting := map[int]int{} // statements of cells that come later: in reports from elsewhere
	for w := range s.r.AllPassing() {
		s.inexact(w.Meters)
		s.inexact(w.Tree)
		for _, c := range w.Children {
			s.inexact(c.Meters)
		}
		s.length = max(s.length, w.StartNS+w.DurationNS)
		if w.Kind != model.Statement {
			if b := s.brief(w, waiting); w.Kind == model.Cell {
				s.cell(w, b)
				cell(w, b)
			}
			continue
		}
		if w.Name != model.Hooks || s.moved(w.Meters) {
			if of := s.byID[w.Parent]; of != nil {
				of.statements++
				of.last = w.ID
			} else {
				waiting[w.Parent]++
			}
		}
	}
	slices.SortStableFunc(s.cells, func(a, b *brief) int { return cmp.Compare(b.weight, a.weight) })
	for _, p := range s.r.Processes {
		s.inexact(p.Meters)
	}
}

// brief returns the needed parts of a window.
func (s *survey) brief(w *model.Window, waiting map[int]int) *brief {
	b := &brief{
		id: w.ID, parent: w.Parent, pid: w.PID, execution: w.Execution, kind: w.Kind, label: label(*w),
		failure: w.Error, kernel: strings.Clone(w.Kernel), silent: w.Silent,
		counted: w.ExecutionCount != nil, statements: waiting[w.ID],
	}
	s.byID[w.ID] = b
	switch w.Kind {
	case model.Experiment:
		s.marked = true
	case model.Session:
		if s.sessions[w.PID] == nil {
			s.sessions[w.PID] = maps.Clone(w.Meters)
		}
	case model.Cell:
		b.weight = s.weight(*w)
	}
	return b
}

// cell adds a cell to the survey.
func (s *survey) cell(w *model.Window, b *brief) {
	b.name = nameOf(w)
	s.labels[b.name+words.OfKernel(b.kernel)]++
	s.pids[w.PID] = true
	s.cells = append(s.cells, b)
	s.several = s.several || w.PID != s.cells[0].pid
	s.byRun[run{w.PID, w.Execution}] = append(s.byRun[run{w.PID, w.Execution}], w.ID)
	if w.Status != model.OK {
		s.bad++
	}
	if len(s.meters) > 0 {
		at := w.StartNS + w.DurationNS
		if last, known := s.ends[w.PID]; !known || at > last.at || at == last.at && b.weight > last.weight {
			s.ends[w.PID] = ending{at, b.weight, w.Meters[s.meters[0]].End, memory(s.first()).cached(w.Meters)}
		}
	}
	s.moves(w.Meters)
}

// moves records which meters moved.
func (s *survey) moves(figures map[string]model.Figure) {
	for _, id := range s.meters {
		if figures[id].Need() != 0 {
			s.moving[id] = true
		}
	}
}
