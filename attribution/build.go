package attribution

import (
	"iter"
	"maps"
	"slices"
	"sort"

	"ipytracer/model"
	"ipytracer/model/words"
)

// Finished returns the cells that closed since the last call, for live output, without who allocated in them. Figures of cells do not change
// after they have closed, except that a late loss may still mark one as not proven.
func (t *Tracker) Finished() []model.Window {
	var out []model.Window
	for _, w := range t.done {
		out = append(out, t.window(t.whole(w)))
	}
	t.done = nil
	return out
}

// Cells returns how many cells have begun.
func (t *Tracker) Cells() (n int) {
	for _, r := range t.roots {
		n += r.executions
	}
	return n
}

// Report returns everything that is known. It can be called at any time; windows that are open end at the last
// boundary.
func (t *Tracker) Report() *model.Report {
	r := t.Stream()
	r.Windows, r.Between = []model.Window{}, []model.Between{}
	for w := range r.Stream {
		r.Detail(w)
		r.Windows = append(r.Windows, *w)
	}
	for b := range r.StreamBetween {
		r.Between = append(r.Between, *b)
	}
	for track := range r.StreamTimeline {
		one := *track
		one.Points, one.Gaps = slices.Clone(one.Points), slices.Clone(one.Gaps)
		r.Timeline = append(r.Timeline, one)
	}
	r.Counted = false
	r.MeterIDs, r.Stream, r.StreamBetween, r.Passing, r.PassingBetween, r.Detail, r.Find, r.Since, r.StreamTimeline = nil, nil, nil, nil, nil, nil, nil, nil, nil
	return r
}

// Stream returns the same as [Tracker.Report], but its windows are made one at a time, whenever they are asked for. No event may be
// added before it has been printed.
func (t *Tracker) Stream() *model.Report {
	t.Flush()
	t.handOnAll()
	t.decoded = nil // what was known of it then
	r := &model.Report{
		Schema: model.Schema, Processes: []model.Process{}, Meters: t.meters(),
		Between: []model.Between{}, Stream: t.each, StreamBetween: t.eachBetween, Passing: t.pass, PassingBetween: t.passBetween, Detail: t.detail, Find: t.find, Since: t.after,
		Timeline: []model.Track{}, StreamTimeline: t.eachTrack,
	}
	r.Host, r.MeterIDs, r.Counted = t.host(), t.meterIDs(), t.counted
	if t.finish != nil {
		for _, g := range t.finish.GPUs {
			r.GPUs = append(r.GPUs, model.GPU{Index: g.Index, UUID: g.UUID, PCIBusID: g.PCIBusID, Name: g.Name, Memory: int64(g.Memory)})
		}
	}
	r.GPUNotes = t.notes()
	restarts := t.restarts()
	sessions := t.sessions()
	for _, p := range t.order {
		if p.began != 0 {
			r.Processes = append(r.Processes, t.describe(p, restarts[p], sessions))
		}
	}
	r.Levels = model.LevelsOf(r.Processes, r.GPUs)
	r.Lines, r.Tensors = t.lines(), t.tensors()
	r.Variables, r.Names = t.variables()
	r.ToFree = freeingOf(t.listed)
	r.Resident = t.resident()
	r.Certificate = t.certificate()
	return r
}

// notes are those of the GPUs.
func (t *Tracker) notes() []model.GPUNote {
	if t.finish == nil {
		return t.gpus.notes.list(nil, &t.allocations.stacks)
	}
	return t.gpus.notes.list(t.finish.GPUs, &t.allocations.stacks)
}

// meterIDs are the meters that any window or process of a report has.
func (t *Tracker) meterIDs() (ids []string) {
	for _, m := range t.gpus.meters {
		if slices.ContainsFunc(t.order, func(p *process) bool { return (p.began != 0 || p.hasWindows) && t.shows(m, nil, p.info.Python != "") }) {
			ids = append(ids, m.String())
		}
	}
	return ids
}

// each makes the windows of a report, in the order they began.
func (t *Tracker) each(yield func(*model.Window) bool) { t.from(0)(yield) }

// from makes those from the i-th window on.
func (t *Tracker) from(i int) iter.Seq[*model.Window] {
	return func(yield func(*model.Window) bool) {
		for w := range t.all(i, windowKind.isReported) {
			whole := t.window(w)
			if !yield(&whole) {
				return
			}
		}
	}
}

// after makes those from a window on.
func (t *Tracker) after(id int) iter.Seq[*model.Window] {
	return t.from(sort.Search(len(t.windows), func(i int) bool { return t.idAt(i) >= id }))
}

// eachBetween makes the times between cells, in the order they began.
func (t *Tracker) eachBetween(yield func(*model.Between) bool) {
	for w := range t.all(0, func(k windowKind) bool { return k == kindBetween }) {
		one := t.between(w)
		if !yield(&one) {
			return
		}
	}
}

// pass makes the same as each, in the same memory.
func (t *Tracker) pass(yield func(*model.Window) bool) {
	for w := range t.all(0, windowKind.isReported) {
		t.lent.begin()
		t.lent.window = t.window(w)
		t.lent.end()
		if !yield(&t.lent.window) {
			return
		}
	}
}

// passBetween makes the same as eachBetween, in the same memory.
func (t *Tracker) passBetween(yield func(*model.Between) bool) {
	for w := range t.all(0, func(k windowKind) bool { return k == kindBetween }) {
		t.lent.begin()
		t.lent.between = t.between(w)
		t.lent.end()
		if !yield(&t.lent.between) {
			return
		}
	}
}

// windowOf finds a window of a report, nil if there is none.
func (t *Tracker) windowOf(id int) *window {
	if t.reached < len(t.windows) && t.idAt(t.reached) == id {
		if w := t.at(t.reached); w.kind.isReported() && !w.dropped {
			return w
		}
	}
	i := sort.Search(len(t.windows), func(i int) bool { return t.idAt(i) >= id })
	for ; i < len(t.windows); i++ {
		w := t.at(i)
		if w.id != id {
			return nil
		}
		if w.kind.isReported() && !w.dropped {
			return w
		}
	}
	return nil
}

// idAt is the id of the i-th window.
func (t *Tracker) idAt(i int) int {
	if w := t.windows[i].w; w != nil {
		return w.id
	}
	return int(t.windows[i].id)
}

// kindAt is that of the i-th window.
func (t *Tracker) kindAt(i int) windowKind {
	if w := t.windows[i].w; w != nil {
		return w.kind
	}
	return t.windows[i].kind
}

// find makes one window of a report again.
func (t *Tracker) find(id int) (model.Window, bool) {
	if w := t.windowOf(id); w != nil {
		return t.window(w), true
	}
	return model.Window{}, false
}

// detail says who allocated in a window of a report.
func (t *Tracker) detail(of *model.Window) {
	w := t.windowOf(of.ID)
	if w == nil {
		return
	}
	if len(t.talliesOf(w)) == 0 {
		of.Allocations, of.Coverage = nil, nil
		return
	}
	if of == &t.lent.window {
		t.lent.allocations = t.allocationsOf(w, t.lent.allocations[:0], t.lent.covered())
		of.Allocations, of.Coverage = t.lent.allocations, t.lent.coverage
		return
	}
	coverage := map[string]model.Coverage{}
	of.Allocations, of.Coverage = slices.Clip(t.allocationsOf(w, nil, coverage)), coverage
}

func (t *Tracker) window(w *window) model.Window {
	out := model.Window{
		ID: w.id, Kind: kindNames[w.kind], PID: int(w.process.info.PID), Execution: w.execution, Name: w.name,
		Line: w.parent.lineOf(w.line), Source: t.sourceOf(w), SourceTruncated: w.truncated, Status: w.status, Error: w.failure, Note: w.note,
		StartNS: t.since(w.opened), DurationNS: t.duration(w), CPUNS: -1,
		Meters:   t.figureMap(w.own, w, true, w.process.info.Python != ""),
		Children: []model.Child{}, ChildrenUnlisted: w.measured.unlisted, Refused: t.refusals(w), Foreign: w.othersMemory(),
		Suspended: w.suspension(), Kernel: w.process.kernel(),
	}
	out.Note = words.Join(out.Note, words.Suspended(out.Suspended))
	out.Tree = t.treeOf(w, out.Meters)
	if w.parent != nil {
		out.Parent = w.parent.id
	}
	out.Silent = w.silent
	w.lost(&out)
	if w.count >= 0 {
		count := w.count
		out.ExecutionCount = &count
	}
	if w.openCPU > 0 && w.closeCPU > 0 { // of two boundaries at the same time the later one may have been read first
		out.CPUNS = max(0, int64(w.closeCPU)-int64(w.openCPU))
	}
	out.Counters = w.counters()
	if w.isOpen {
		out.Status = model.Incomplete
	}
	for _, c := range w.children {
		p := c.process
		meters := t.figureMap(c.figures, w, false, p.info.Python != "")
		maps.DeleteFunc(meters, func(_ string, f model.Figure) bool { return f.Exact && f.Peak == 0 })
		out.Children = append(out.Children, model.Child{PID: int(p.info.PID), Command: p.info.Command, Meters: meters})
	}
	return out
}

// isBelow says whether a process is a child of another, or a child's child: not its parent, not another child of that.
func (t *Tracker) isBelow(p, of *process) bool {
	const deepest = 64
	for range deepest {
		if p == nil || p.parent == 0 || p == of {
			return false
		}
		if p.parent == of.info.PID {
			return true
		}
		p = t.processes[p.parent]
	}
	return false
}

func (t *Tracker) duration(w *window) int64 {
	if w.isOpen {
		return int64(t.last - w.opened)
	}
	return int64(w.closed - w.opened)
}

func (t *Tracker) between(w *window) model.Between {
	out := model.Between{
		PID: int(w.process.info.PID), Kernel: w.process.kernel(), Note: w.note, StartNS: t.since(w.opened), DurationNS: t.duration(w),
		Meters: t.figureMap(w.own, w, true, w.process.info.Python != ""), Refused: t.refusals(w),
	}
	out.Note = words.Join(out.Note, words.Suspended(w.suspension()))
	if w.before != nil {
		out.After = w.before.id
	}
	if w.after != nil {
		out.Before = w.after.id
	}
	out.Label = words.Between(bareName(w.before), bareName(w.after)) + words.OfKernel(w.process.kernel())
	return out
}
