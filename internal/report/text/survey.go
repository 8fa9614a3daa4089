package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// survey is the result of one pass through all windows of a report, which may be hundreds of thousands. It keeps a
// short form of each cell; its archive fetches the shown cells again.
type survey struct {
	*archive
	accuracy
	cells    []*brief                        // heaviest first
	byRun    map[run][]int                   // the ids of cells
	labels   map[string]int                  // the number of cells by name
	pids     map[int]bool                    // the processes that run cells
	sessions map[int]map[string]model.Figure // by process
	ends     map[int]ending                  // by process, after its last cell
	marked   bool                            // there are experiments
	length   int64                           // nanoseconds of the session
	bad      int                             // cells that did not end ok
	moving   map[string]bool                 // meters that moved in a cell, or between cells
	idle     map[int]int64                   // the highest peak of each child that took almost no memory in a cell
	// several: more than one process runs cells, so rows must name the process.
	several bool

	contained contained
}

// newSurvey returns an empty survey of a report. [survey.lookThrough] fills it.
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

// isTyped reports whether a cell has an In[N], or a name of marimo's: a user typed it.
func (s *survey) isTyped(id int) bool {
	b := s.byID[id]
	return b != nil && b.counted && !b.silent
}

// run is a run of a cell.
type run struct{ pid, execution int }

// ending is the state of a process at a cell's end.
type ending struct {
	at          int64 // nanoseconds since the session began
	weight      int64 // of the cell
	end, cached int64 // bytes of the ranking meter, and the part in the GPU allocator's cache
}

// lookThrough fills the survey from all windows, and calls addCell for each cell.
func (s *survey) lookThrough(addCell func(*model.Window, *brief)) {
	waiting := map[int]int{} // statements by cell, if the cell comes later, as in reports from elsewhere
	for w := range s.r.AllPassing() {
		s.inexact(w.Meters)
		s.inexact(w.Tree)
		for _, c := range w.Children {
			s.inexact(c.Meters)
		}
		s.length = max(s.length, w.StartNS+w.DurationNS)
		if w.Kind != model.Statement {
			b := s.brief(w, waiting)
			s.contained.see(w, b)
			if w.Kind == model.Cell {
				s.cell(w, b)
				addCell(w, b)
			}
			continue
		}
		if w.Name == model.Hooks && !s.moved(w.Meters) {
			continue
		}
		if cell := s.byID[w.Parent]; cell != nil {
			cell.statements++
			cell.last = w.ID
		} else {
			waiting[w.Parent]++
		}
	}
	slices.SortStableFunc(s.cells, func(a, b *brief) int { return cmp.Compare(b.weight, a.weight) })
	for _, p := range s.r.Processes {
		s.inexact(p.Meters)
	}
}

// brief keeps the short form of a window. waiting has the number of statements that came before their cell.
func (s *survey) brief(w *model.Window, waiting map[int]int) *brief {
	b := &brief{
		id: w.ID, parent: w.Parent, pid: w.PID, execution: w.Execution, kind: w.Kind, label: Label(*w),
		failure: w.Error, kernel: strings.Clone(w.Kernel), silent: w.Silent,
		counted: w.ExecutionCount != nil || words.NameOf(w) != "", statements: waiting[w.ID],
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
	b.name = CellName(w)
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
		last, known := s.ends[w.PID]
		isLater := at > last.at || at == last.at && b.weight > last.weight
		if !known || isLater {
			s.ends[w.PID] = ending{at, b.weight, w.Meters[s.first()].End, memory(s.first()).cached(w.Meters)}
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

// accuracy says, by meter, how far figures may be off that are not exact.
type accuracy struct {
	off     map[string]int64 // the largest bound, in bytes
	unknown map[string]bool  // meters with figures without a bound
	vague   map[string]bool  // meters with figures that can be off by more than their own size
}

// inexact records the error bounds of figures.
func (a accuracy) inexact(figures map[string]model.Figure) {
	for id, f := range figures {
		switch {
		case f.Exact:
		case f.Bound == nil:
			a.unknown[id] = true
		default:
			a.off[id] = max(a.off[id], *f.Bound)
			hasVagueNeed := *f.Bound >= worthAGap && f.Need() != 0 && model.Vague(f.Need(), f.Bound)
			a.vague[id] = a.vague[id] || model.Vague(f.Peak, f.Bound) || hasVagueNeed
		}
	}
}

// shortName returns a distinct name of a cell: its name, and the number of its run if several have that name.
func (s *survey) shortName(c *brief) string {
	name := c.name
	if s.labels[name+words.OfKernel(c.kernel)] > 1 {
		name += fmt.Sprintf(" (run %d)", c.execution)
	}
	return name + words.OfKernel(c.kernel)
}

// shortGap returns the label of a time between cells, such as "after In[3]".
func (s *survey) shortGap(b model.Between) string {
	if w, ok := s.byID[b.After]; ok && w.kind == model.Cell {
		return "after " + s.shortName(w)
	}
	if w, ok := s.byID[b.Before]; ok && w.kind == model.Cell {
		return "before " + s.shortName(w)
	}
	return escape.Bounded(b.Label, maxName)
}

// cellName returns a cell's label; with its number and process if the label alone is ambiguous.
func (s *survey) cellName(c model.Window) string {
	name := Label(c)
	if name == "-" || c.Silent || s.several && c.Kernel == "" {
		name += fmt.Sprintf(" (cell #%d, pid %d)", c.Execution, c.PID)
	}
	return name + words.OfKernel(c.Kernel)
}

// textOf returns the source of a line of a cell, without space around it; "" if it is not known.
func (s *survey) textOf(l model.Line) string {
	if l.Execution == 0 {
		return ""
	}
	for _, id := range s.byRun[run{l.PID, l.Execution}] {
		lines := strings.Split(s.fetch(id).Source, "\n")
		if l.Line >= 1 && l.Line <= len(lines) {
			return strings.TrimSpace(lines[l.Line-1])
		}
	}
	return ""
}

// kernels returns the processes that ran cells; the attached ones if none did.
func (s *survey) kernels() (all []model.Process) {
	for _, p := range s.r.Processes {
		if s.pids[p.PID] {
			all = append(all, p)
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, p := range s.r.Processes {
		if p.Parent == 0 {
			all = append(all, p)
		}
	}
	return all
}

// life returns the figures of a process from beginning to end.
func (s *survey) life(p model.Process) map[string]model.Figure {
	if own := s.sessions[p.PID]; own != nil {
		return own
	}
	return p.Meters
}

// processName returns the name of the last process with a pid, which runs beside a kernel.
func (s *survey) processName(pid, kernel int) string {
	for i := len(s.r.Processes) - 1; i >= 0; i-- { // a pid may have been used again
		if p := &s.r.Processes[i]; p.PID == pid {
			return childName(s.r, kernel, p.Command)
		}
	}
	return ""
}

// childName returns the name of a process beside a kernel, by its command line. A process with the kernel's own command
// line was forked.
func childName(r *model.Report, kernel int, command string) string {
	if hasProcess(r, kernel, func(p *model.Process) bool { return p.Command == command }) {
		return words.Forked
	}
	return escape.Bounded(words.ProcessName(command), maxProse)
}

// hasProcess reports whether a report has a process with a pid and a property; a pid may have been used again.
func hasProcess(r *model.Report, pid int, has func(*model.Process) bool) bool {
	return slices.ContainsFunc(r.Processes, func(p model.Process) bool { return p.PID == pid && has(&p) })
}

// isLate reports whether a process began before the session.
func isLate(r *model.Report, pid int) bool {
	return hasProcess(r, pid, func(p *model.Process) bool { return p.Late })
}

// depth returns the number of experiments around a window. A report from elsewhere may have cycles.
func (s *survey) depth(w model.Window) int {
	const deepest = 8
	n := 0
	for outer, ok := s.byID[w.Parent]; ok && n < deepest; outer, ok = s.byID[outer.parent] {
		if outer.kind == model.Experiment {
			n++
		}
		if outer.parent == outer.id {
			break
		}
	}
	return n
}
