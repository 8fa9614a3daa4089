package attribution

import (
	"regexp"
	"slices"
	"strconv"

	"ipytracer/report"
	"ipytracer/tracer/event"
)

type windowKind uint8

const (
	kindSession windowKind = iota
	kindExperiment
	kindCell
	kindStatement
	kindBetween // no window of the contract: the time in which a process runs no cell
)

var kindNames = [...]string{report.Session, report.Experiment, report.Cell, report.Statement, "between"}

// figures are the three readings from which everything a window reports is derived.
type figures struct{ start, peak, end event.Readings }

func startFigures(value event.Readings) figures { return figures{value, value, value} }

func (f *figures) see(value, high event.Readings) {
	f.peak = maxReadings(f.peak, high)
	f.end = value
}

// window is a run of segments of one tree, seen from one process.
type window struct {
	id      int
	kind    windowKind
	parent  *window
	process *process
	root    uint32
	isOpen  bool

	firstSegment, lastSegment uint64
	openStream, closeStream   uint64
	opened, closed            event.Nanoseconds
	openCPU, closeCPU         event.Nanoseconds
	openUnknown, closeUnknown uint64
	openSlack, closeSlack     event.Bytes

	own, tree  figures
	recomputed event.Readings
	children   map[int32]*figures
	// shares is what forked children had from their parent at birth and have not replaced by a program: the tree
	// counts it once, and copies they made of it by writing are in no counter.
	shares map[int32]event.Readings
	silent bool
	shed   [event.MeterCount]bool // the meter was stepped down at some time in the window

	execution int
	count     int // In[N], -1 if there is none
	cell      uint64
	line      int
	name      string
	source    string
	truncated bool
	status    string
	note      string
	statement *window // of a cell: the statement that runs

	before, after *window // of the time between: the cells around it
}

// openWindow begins a window at a boundary: it holds every segment after the one that ends there.
func (t *Tracker) openWindow(p *process, b *event.Boundary, kind windowKind, parent *window) *window {
	w := &window{
		kind: kind, parent: parent, process: p, root: b.Root, isOpen: true, firstSegment: b.Segment + 1, count: -1,
		openStream: b.Stream, opened: b.Time, openCPU: b.CPUTime, openUnknown: b.Unknown, openSlack: b.Slack,
		own: startFigures(b.Value), tree: startFigures(b.Tree), recomputed: b.Value, status: report.OK,
	}
	if kind != kindBetween {
		w.id = t.nextID
		t.nextID++
	}
	for _, other := range t.order {
		if other != p && other.root == b.Root && other.alive {
			f := startFigures(other.value)
			w.child(other.info.PID, &f)
			if birth, forked := t.forked[other.info.PID]; forked {
				w.share(other.info.PID, birth)
			}
		}
	}
	for m := range t.shed {
		w.shed[m] = t.shed[m]
	}
	t.keep(w)
	r := t.root(b.Root)
	r.open = append(r.open, w)
	return w
}

// Limits of what is kept: a target can make windows without end.
const (
	maxStatements = 200_000
	maxWindows    = 500_000
)

// keep remembers a window for the report, or counts it where there are too many.
func (t *Tracker) keep(w *window) {
	if w.kind == kindStatement {
		t.statements++
	}
	if len(t.windows) >= maxWindows || w.kind == kindStatement && t.statements > maxStatements {
		t.dropped++
		return
	}
	t.windows = append(t.windows, w)
}

func (w *window) child(pid int32, f *figures) {
	if w.children == nil {
		w.children = map[int32]*figures{}
	}
	w.children[pid] = f
}

func (w *window) share(pid int32, birth event.Readings) {
	if w.shares == nil {
		w.shares = map[int32]event.Readings{}
	}
	w.shares[pid] = birth
}

// see takes in a segment that ends.
func (w *window) see(b *event.Boundary, moved moves, changes map[int32]*event.Readings, forked map[int32]event.Readings) {
	pid := w.process.info.PID
	w.tree.see(b.Tree, b.TreeHigh)
	if m, ok := moved[pid]; ok {
		w.own.see(m.value, m.high)
		w.recomputed = maxReadings(w.recomputed, m.value)
	}
	if high := changes[pid]; high != nil {
		w.recomputed = maxReadings(w.recomputed, *high)
	}
	for other, m := range moved {
		if other == pid {
			continue
		}
		f := w.children[other]
		_, copies := forked[other]
		if f == nil || b.Kind == event.ProcessExec && other == b.PID && copies {
			// Born within the window, or what it was forked with is gone: it had nothing at its start.
			f = &figures{}
			w.child(other, f)
		}
		f.see(m.value, m.high)
		if other == b.PID && b.Kind == event.ProcessExit {
			f.end = event.Readings{}
		}
	}
}

// closeWindow ends a window at a boundary whose segment it has seen.
func (t *Tracker) closeWindow(w *window, b *event.Boundary) {
	if !w.isOpen {
		return
	}
	w.isOpen = false
	w.lastSegment, w.closeStream = b.Segment, b.Stream
	w.closed, w.closeCPU = b.Time, b.CPUTime
	w.closeUnknown, w.closeSlack = b.Unknown, b.Slack
	r := t.root(w.root)
	if i := slices.Index(r.open, w); i >= 0 {
		r.open = slices.Delete(r.open, i, i+1)
	}
}

var terminalCell = regexp.MustCompile(`^<ipython-input-(\d{1,9})-`)

// countOf is In[N]: IPython appends a cell to In before it compiles it, unless the cell is silent.
func (p *process) countOf(b *event.Boundary) int {
	if b.Inputs >= 0 {
		grew := b.Inputs > p.inputs
		p.inputs = b.Inputs
		if grew {
			return int(b.Inputs) - 1
		}
		return -1
	}
	if m := terminalCell.FindStringSubmatch(b.Text); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return -1
}

// outermost is what an experiment or a top-level cell belongs to.
func (p *process) outermost() *window { return p.session }

func (t *Tracker) sessionOf(p *process) *window {
	if p.session != nil {
		return p.session
	}
	for _, other := range t.order {
		if other.root == p.root && other.session != nil {
			return other.session
		}
	}
	return nil
}

func (t *Tracker) openCell(r *root, p *process, b *event.Boundary) {
	parent := t.cells[b.Outer]
	if parent == nil || !parent.isOpen {
		parent = t.sessionOf(p)
	}
	t.endBetween(p, b)
	r.executions++
	w := t.openWindow(p, b, kindCell, parent)
	w.cell, w.execution, w.count = b.Cell, r.executions, p.countOf(b)
	w.silent = b.Inputs >= 0 && w.count < 0
	if p.between == nil && len(p.open) == 0 {
		t.linkBetween(p, w)
	}
	p.open = append(p.open, w)
	t.cells[b.Cell] = w
}

func (t *Tracker) closeCell(p *process, b *event.Boundary) {
	w := t.cells[b.Cell]
	if w == nil || !w.isOpen {
		return
	}
	t.closeStatement(b, outcomeStatus(b.Outcome))
	w.status = outcomeStatus(b.Outcome)
	if b.Outcome == event.OutcomeAbandoned {
		w.note = "given up while it was awaited; its coroutine may still run"
	}
	t.finishCell(p, w, b)
}

// finishCell closes a cell's window and, if no other cell runs, begins the time between.
func (t *Tracker) finishCell(p *process, w *window, b *event.Boundary) {
	t.closeWindow(w, b)
	delete(t.cells, w.cell)
	if i := slices.Index(p.open, w); i >= 0 {
		p.open = slices.Delete(p.open, i, i+1)
	}
	t.done = append(t.done, w)
	if len(p.open) == 0 {
		p.lastCell = w
		t.startBetween(p, b)
	}
}

// abandonCell closes the innermost cell that something else than its end put an end to.
func (t *Tracker) abandonCell(p *process, b *event.Boundary, why string) {
	w := p.open[len(p.open)-1]
	if s := w.statement; s != nil {
		s.status, s.note = report.Incomplete, why
		t.closeWindow(s, b)
		w.statement = nil
	}
	w.status, w.note = report.Incomplete, why
	t.finishCell(p, w, b)
}

func (t *Tracker) openStatement(p *process, b *event.Boundary) {
	cell := t.cells[b.Cell]
	if cell == nil {
		return
	}
	w := t.openWindow(p, b, kindStatement, cell)
	w.line = int(b.Line)
	cell.statement = w
}

func (t *Tracker) closeStatement(b *event.Boundary, status string) {
	cell := t.cells[b.Cell]
	if cell == nil || cell.statement == nil {
		return
	}
	cell.statement.status = status
	t.closeWindow(cell.statement, b)
	cell.statement = nil
}

func (t *Tracker) endExperiment(p *process, b *event.Boundary) {
	for i := len(p.experiments) - 1; i >= 0; i-- {
		if w := p.experiments[i]; w.name == b.Text {
			t.closeWindow(w, b)
			p.experiments = slices.Delete(p.experiments, i, i+1)
			return
		}
	}
	t.problem("experiment %q ended in pid %d, but had not begun", b.Text, b.PID)
}

// startBetween and endBetween frame the time in which no cell of a process runs.
func (t *Tracker) startBetween(p *process, b *event.Boundary) {
	if p.between != nil || p.ended {
		return
	}
	p.between = t.openWindow(p, b, kindBetween, t.sessionOf(p))
	p.between.before = p.lastCell
}

func (t *Tracker) endBetween(p *process, b *event.Boundary) {
	if p.between != nil {
		t.closeWindow(p.between, b)
		p.between = nil
	}
}

// linkBetween tells the time that just ended which cell came after it.
func (t *Tracker) linkBetween(p *process, next *window) {
	for i := len(t.windows) - 1; i >= 0; i-- {
		if w := t.windows[i]; w.kind == kindBetween && w.process == p {
			if !w.isOpen && w.after == nil {
				w.after = next
			}
			return
		}
	}
}

// closeProcess ends everything that is open for a process.
func (t *Tracker) closeProcess(p *process, b *event.Boundary, why string) {
	for len(p.open) > 0 {
		t.abandonCell(p, b, why)
	}
	for _, w := range p.experiments {
		w.status, w.note = report.Incomplete, "no end marker: it ends with the session"
		t.closeWindow(w, b)
	}
	p.experiments = nil
	t.endBetween(p, b)
	if p.session != nil {
		t.closeWindow(p.session, b)
	}
}

// shedding marks the windows that are open while a meter's probes are out.
func (t *Tracker) shedding(b *event.Boundary) {
	if b.Text != "" { // the name of a probe group that serves no meter
		if b.Kind == event.MeterShed {
			t.problem("%s", b.Text)
		}
		return
	}
	t.shed[event.NumPy] = b.Kind == event.MeterShed
	for _, r := range t.roots {
		for _, w := range r.open {
			w.shed[event.NumPy] = true
		}
	}
}

func outcomeStatus(o event.Outcome) string {
	switch o {
	case event.OutcomeError:
		return report.Error
	case event.OutcomeInterrupted, event.OutcomeAbandoned:
		return report.Interrupted
	}
	return report.OK
}
