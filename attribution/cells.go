package attribution

import (
	"regexp"
	"slices"
	"strconv"

	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/model/words"
)

var terminalCell = regexp.MustCompile(`^<ipython-input-(\d{1,9})-`)

// countOf is In[N]: IPython appends a cell to In before it compiles it, unless the cell is silent.
func (p *process) countOf(b *event.Boundary) int {
	if b.Inputs >= 0 {
		grew := b.Inputs > p.inputs || p.reset(b.Inputs) && b.Inputs > 1
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

func (w *window) addNote(note string) { w.note = words.Join(w.note, note) }

// lateCount is In[N] of a cell that was not seen to begin: what the tracer has found out.
func lateCount(p *process, b *event.Boundary) int {
	p.inputs = max(p.inputs, b.Inputs)
	return max(int(b.Inputs)-1, -1)
}

func (ps *processes) sessionOf(p *process) *window {
	if p == nil {
		return nil
	}
	if p.session != nil {
		return p.session
	}
	for _, other := range ps.order {
		if other.root == p.root && other.session != nil {
			return other.session
		}
	}
	return nil
}

func (t *Tracker) openCell(r *root, p *process, b *event.Boundary) {
	parent := t.cells[b.Outer]
	if parent == nil || !parent.isOpen {
		parent = t.processes.sessionOf(p)
	}
	gap := p.between
	if t.isFull(r) {
		return
	}
	t.endBetween(p, b)
	t.processes.kernels.met(p)
	t.unseenBefore(p, b, gap)
	lateEnd(b, gap)
	r.executions++
	w := t.openWindow(p, b, kindCell, parent)
	w.tid = b.TID
	w.cell, w.execution, w.count = b.Cell, r.executions, p.countOf(b)
	w.file, _ = t.limits.keep(b.Text, maxName)
	w.silent = b.Inputs >= 0 && w.count < 0
	if b.Late {
		w.count, w.silent, w.late = lateCount(p, b), false, true
		w.note = words.Late
	}
	if p.between == nil && len(p.open) == 0 {
		t.linkBetween(p, w)
	}
	p.open = append(p.open, w)
	t.cells[b.Cell] = w
	key := fileKey{b.PID, w.file}
	t.files.byName[key] = append(t.files.byName[key], w)
	t.files.ran = nil
}

// isFull says whether so many cells and experiments of a tree are open that there is no room for one more; it is
// counted then.
func (t *Tracker) isFull(r *root) bool {
	if len(r.open) < maxOpen {
		return false
	}
	t.table.dropped++
	return true
}

// closeCell ends a cell: where the front end is done with it, at its result where nobody says more.
func (t *Tracker) closeCell(p *process, b *event.Boundary) {
	w := t.cells[b.Cell]
	if w == nil || !w.isOpen {
		return
	}
	if w.hooks != nil {
		if b.Outcome == event.OutcomeMissed {
			first := p.ranCells == 0 && p.info.Late // its request may have begun before the tracer looked
			t.endAtResult(p, w, b, p.info.Frontend != "" && w.isOwn() && !first)
			return
		}
		t.closeWindow(w.hooks, b)
		t.forgo(w.atResult)
		w.hooks, w.atResult, w.told = nil, nil, true
		t.finishCell(p, w, b)
		return
	}
	t.closeStatement(b, outcomeStatus(b.Outcome))
	w.status = outcomeStatus(b.Outcome)
	w.failure = t.failureOf(b)
	w.resultless = !w.late && (b.Outcome == event.OutcomeOK || b.Outcome == event.OutcomeError)
	switch b.Outcome {
	case event.OutcomeUnknown:
		w.addNote(words.OutcomeUnknown)
	case event.OutcomeAbandoned:
		w.note = words.GivenUp
	case event.OutcomeMissed:
		w.missed = true
		if w.note = words.EndMissed; w.late {
			w.note = words.LateNoEnd
		}
	}
	t.finishCell(p, w, b)
}

// finishCell closes a cell's window and, if no other cell runs, begins the time between.
func (t *Tracker) finishCell(p *process, w *window, b *event.Boundary) {
	t.closeWindow(w, b)
	t.forgetCell(w)
	if i := slices.Index(p.open, w); i >= 0 {
		p.open = slices.Delete(p.open, i, i+1)
	}
	t.done = append(t.done, w)
	if t.audit != nil && (w.status == model.Error || w.status == model.Interrupted) {
		t.audit.fail(b.PID, w)
	}
	if len(p.open) == 0 {
		p.lastCell = w
		p.ranCells++
		t.startBetween(p, b)
	}
}

// forgetCell notes that a cell is over. Its text may still come.
func (t *Tracker) forgetCell(w *window) {
	delete(t.cells, w.cell)
	t.told[w.cell] = w
}

// abandonCell closes the innermost cell that something else than its end put an end to.
func (t *Tracker) abandonCell(p *process, b *event.Boundary, why string) {
	w := p.open[len(p.open)-1]
	if w.hooks != nil {
		t.endAtResult(p, w, b, false)
		return
	}
	if s := w.statement; s != nil {
		s.status, s.note = model.Incomplete, why
		t.closeWindow(s, b)
		w.statement = nil
	}
	w.status, w.note = model.Incomplete, why
	t.finishCell(p, w, b)
}

func (t *Tracker) openStatement(p *process, b *event.Boundary) {
	cell := t.cells[b.Cell]
	if cell == nil {
		return
	}
	if late := cell.statement; late != nil { // its end was refused
		late.status = model.Incomplete
		late.loosen(words.EndRefused)
		t.closeWindow(late, b)
	}
	w := t.openWindow(p, b, kindStatement, cell)
	w.line = int(b.Line)
	cell.lastLine = max(cell.lastLine, w.line)
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

// startBetween and endBetween frame the time in which no cell of a process runs.
func (t *Tracker) startBetween(p *process, b *event.Boundary) {
	if p.between != nil || p.ended {
		return
	}
	p.between = t.openWindow(p, b, kindBetween, t.processes.sessionOf(p))
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
	if w := p.lastGap; w != nil && !w.isOpen && w.after == nil {
		w.after = next
	}
}

// closeProcess ends everything that is open for a process.
func (t *Tracker) closeProcess(p *process, b *event.Boundary, why string) {
	for len(p.open) > 0 {
		t.abandonCell(p, b, why)
	}
	t.endExperiments(p, b)
	t.endBetween(p, b)
	for _, w := range []*window{p.session, p.whole} {
		if w != nil {
			t.closeWindow(w, b)
		}
	}
}

// shedding notes that a root's probe group was stepped down or up. The windows that are open are marked.
func (t *Tracker) shedding(r *root, b *event.Boundary) {
	down := b.Kind == event.MeterShed
	paused := event.Paused(b.Text)
	switch {
	case len(paused) > 0:
		r.sheds(t.session.cut, b.Text, down, paused...)
	case event.IsOfStacks(b.Text):
		if forgotten := forgottenBy(b.Text); down && len(forgotten) > 0 {
			t.forget(b.Root, func(m event.Meter) bool { return slices.Contains(forgotten, m.Template()) })
		}
		t.stacksAreShed(r, b)
	default: // the name of a probe group that serves no meter
		if down && len(t.stepDowns.groups) < maxGroupsShed && !slices.Contains(t.stepDowns.groups, b.Text) {
			t.stepDowns.groups = append(t.stepDowns.groups, b.Text)
		}
		if down && b.Text == event.Statements {
			cutShort(t, r, b)
		}
	}
}

// maxGroupsShed is how many there are, and more.
const maxGroupsShed = 32

// forgottenBy are the meters whose blocks are not known any more once what a text is about is stepped down.
func forgottenBy(text string) []event.Meter {
	return event.MetersOf(func(f *event.Facts) bool { return f.Forgotten && slices.Contains(f.Untold, text) })
}

// sheds notes that the probes of some meters are out, for one reason or several, or back.
func (r *root) sheds(cut uint64, why string, down bool, meters ...event.Meter) {
	if r.reasons == nil {
		r.reasons, r.shed = map[shedReason]bool{}, map[event.Meter]shedding{}
	}
	for _, m := range meters {
		if down {
			r.reasons[shedReason{m, why}] = true
		} else {
			delete(r.reasons, shedReason{m, why})
		}
		now := false
		for reason := range r.reasons {
			now = now || reason.meter == m
		}
		r.shed[m] = shedding{now, cut}
	}
}

// in says whether it was stepped down at some time since a cut.
func (s shedding) in(since uint64) bool { return s.now || s.cut > since }

// shedIn are the meters that were stepped down at some time in a window that is open. Where it begins or ends is not
// certain, they are all that ever were: what a meter says after that may be too much.
func (r *root) shedIn(w *window) (meters []event.Meter) {
	for m, s := range r.shed {
		if s.in(w.since) || w.doubts != nil && w.doubts.loose || isUnsaid(r, w, m) {
			meters = append(meters, m)
		}
	}
	slices.Sort(meters)
	return meters
}

// unwalkedIn are the stacks that were not walked at some time in a window that is open.
func (r *root) unwalkedIn(w *window) (stacks []string) {
	for text, s := range r.unwalked {
		if s.in(w.since) {
			stacks = append(stacks, text)
		}
	}
	slices.Sort(stacks)
	return stacks
}

// stacksAreShed notes that stacks are not walked, or are again.
func (t *Tracker) stacksAreShed(r *root, b *event.Boundary) {
	if r.unwalked == nil {
		r.unwalked = map[string]shedding{}
	}
	r.unwalked[b.Text] = shedding{b.Kind == event.MeterShed, t.session.cut}
	t.stepDowns.stacks = true
}

func outcomeStatus(o event.Outcome) string {
	switch o {
	case event.OutcomeError:
		return model.Error
	case event.OutcomeInterrupted, event.OutcomeAbandoned:
		return model.Interrupted
	case event.OutcomeMissed, event.OutcomeUnknown:
		return model.Incomplete
	}
	return model.OK
}
