package attribution

import (
	"iter"
	"maps"
	"slices"
	"sort"

	"ipytracer/model"
	"ipytracer/model/words"
)

// presenter makes windows of a report, each when it is asked for.
type presenter struct {
	session    *session
	gpus       *gpus
	processes  *processes
	stacks     *stackTable
	table      *windowTable
	texts      *texts
	figurer    *figurer
	symbolizer *symbolizer
	lister     *lister
	lent       *lent
}

// Finished returns the cells that closed since the last call, for live output, without who allocated in them. Figures
// of cells do not change after they have closed, except that a late loss may still mark one as not proven.
func (t *Tracker) Finished() []model.Window {
	var out []model.Window
	for _, w := range t.done {
		out = append(out, t.presenter.window(t.table.whole(w)))
	}
	t.done = nil
	return out
}

// Cells returns how many cells have begun.
func (t *Tracker) Cells() int { return t.processes.cells() }

// cells returns how many cells have begun.
func (ps *processes) cells() (n int) {
	for _, r := range ps.roots {
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
	r.MeterIDs, r.Stream, r.StreamBetween, r.Passing, r.PassingBetween = nil, nil, nil, nil, nil
	r.Detail, r.Find, r.Since, r.StreamTimeline = nil, nil, nil, nil
	return r
}

// Stream returns the same as [Tracker.Report], but its windows are made one at a time, whenever they are asked for. No
// event may be added before it has been printed.
func (t *Tracker) Stream() *model.Report {
	t.Flush()
	t.handOnAll()
	t.table.decoded = nil // what was known of it then
	r := &model.Report{
		Schema: model.Schema, Processes: []model.Process{}, Meters: t.figurer.meters(),
		Between: []model.Between{}, Stream: t.presenter.each, StreamBetween: t.presenter.eachBetween,
		Passing: t.presenter.pass, PassingBetween: t.presenter.passBetween, Detail: t.presenter.detail,
		Find: t.presenter.find, Since: t.presenter.after,
		Timeline: []model.Track{}, StreamTimeline: t.eachTrack,
	}
	r.Host, r.MeterIDs, r.Counted = t.session.host(), t.presenter.meterIDs(), t.table.counted
	if t.session.finish != nil {
		for _, g := range t.session.finish.GPUs {
			r.GPUs = append(r.GPUs, model.GPU{Index: g.Index, UUID: g.UUID, PCIBusID: g.PCIBusID, Name: g.Name,
				Memory: int64(g.Memory)})
		}
	}
	r.GPUNotes = t.presenter.notes()
	restarts := t.processes.restarts()
	sessions := t.table.sessions()
	for _, p := range t.processes.order {
		if p.began != 0 {
			r.Processes = append(r.Processes, t.presenter.describe(p, restarts[p], sessions))
		}
	}
	r.Levels = model.LevelsOf(r.Processes, r.GPUs)
	r.Lines, r.Tensors = t.lister.lines(), t.lister.tensors()
	r.Variables, r.Names = t.variables()
	r.ToFree = freeingOf(t.listed)
	r.Resident = t.resident()
	r.Certificate = t.certificate()
	return r
}

// notes are those of the GPUs.
func (pr *presenter) notes() []model.GPUNote {
	if pr.session.finish == nil {
		return pr.gpus.notes.list(nil, pr.stacks)
	}
	return pr.gpus.notes.list(pr.session.finish.GPUs, pr.stacks)
}

// meterIDs are the meters that any window or process of a report has.
func (pr *presenter) meterIDs() (ids []string) {
	for _, m := range pr.gpus.meters {
		if slices.ContainsFunc(pr.processes.order,
			func(p *process) bool {
				return (p.began != 0 || p.hasWindows) &&
					pr.gpus.shows(m, nil, p.info.Python != "")
			}) {
			ids = append(ids, m.String())
		}
	}
	return ids
}

// each makes the windows of a report, in the order they began.
func (pr *presenter) each(yield func(*model.Window) bool) { pr.from(0)(yield) }

// from makes those from the i-th window on.
func (pr *presenter) from(i int) iter.Seq[*model.Window] {
	return func(yield func(*model.Window) bool) {
		for w := range pr.table.all(i, windowKind.isReported) {
			whole := pr.window(w)
			if !yield(&whole) {
				return
			}
		}
	}
}

// after makes those from a window on.
func (pr *presenter) after(id int) iter.Seq[*model.Window] {
	return pr.from(sort.Search(len(pr.table.slots), func(i int) bool { return pr.table.idAt(i) >= id }))
}

// eachBetween makes the times between cells, in the order they began.
func (pr *presenter) eachBetween(yield func(*model.Between) bool) {
	for w := range pr.table.all(0, func(k windowKind) bool { return k == kindBetween }) {
		one := pr.between(w)
		if !yield(&one) {
			return
		}
	}
}

// pass makes the same as each, in the same memory.
func (pr *presenter) pass(yield func(*model.Window) bool) {
	for w := range pr.table.all(0, windowKind.isReported) {
		pr.lent.begin()
		pr.lent.window = pr.window(w)
		pr.lent.end()
		if !yield(&pr.lent.window) {
			return
		}
	}
}

// passBetween makes the same as eachBetween, in the same memory.
func (pr *presenter) passBetween(yield func(*model.Between) bool) {
	for w := range pr.table.all(0, func(k windowKind) bool { return k == kindBetween }) {
		pr.lent.begin()
		pr.lent.between = pr.between(w)
		pr.lent.end()
		if !yield(&pr.lent.between) {
			return
		}
	}
}

// windowOf finds a window of a report, nil if there is none.
func (wt *windowTable) windowOf(id int) *window {
	if wt.reached < len(wt.slots) && wt.idAt(wt.reached) == id {
		if w := wt.at(wt.reached); w.kind.isReported() && !w.dropped {
			return w
		}
	}
	i := sort.Search(len(wt.slots), func(i int) bool { return wt.idAt(i) >= id })
	for ; i < len(wt.slots); i++ {
		w := wt.at(i)
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
func (wt *windowTable) idAt(i int) int {
	if w := wt.slots[i].w; w != nil {
		return w.id
	}
	return int(wt.slots[i].id)
}

// kindAt is that of the i-th window.
func (wt *windowTable) kindAt(i int) windowKind {
	if w := wt.slots[i].w; w != nil {
		return w.kind
	}
	return wt.slots[i].kind
}

// find makes one window of a report again.
func (pr *presenter) find(id int) (model.Window, bool) {
	if w := pr.table.windowOf(id); w != nil {
		return pr.window(w), true
	}
	return model.Window{}, false
}

// detail says who allocated in a window of a report.
func (pr *presenter) detail(of *model.Window) {
	w := pr.table.windowOf(of.ID)
	if w == nil {
		return
	}
	if len(pr.table.talliesOf(w)) == 0 {
		of.Allocations, of.Coverage = nil, nil
		return
	}
	if of == &pr.lent.window {
		pr.lent.allocations = pr.lister.allocationsOf(w, pr.lent.allocations[:0], pr.lent.covered())
		of.Allocations, of.Coverage = pr.lent.allocations, pr.lent.coverage
		return
	}
	coverage := map[string]model.Coverage{}
	of.Allocations, of.Coverage = slices.Clip(pr.lister.allocationsOf(w, nil, coverage)), coverage
}

func (pr *presenter) window(w *window) model.Window {
	out := model.Window{
		ID: w.id, Kind: kindNames[w.kind], PID: int(w.process.info.PID), Execution: w.execution, Name: w.name,
		Line: w.parent.lineOf(w.line), Source: pr.texts.sourceOf(w), SourceTruncated: w.truncated, Status: w.status,
		Error: w.failure, Note: w.note,
		StartNS: pr.session.since(w.opened), DurationNS: pr.session.duration(w), CPUNS: -1,
		Meters:   pr.figurer.figureMap(w.own, w, true, w.process.info.Python != ""),
		Children: []model.Child{}, ChildrenUnlisted: w.measured.unlisted, Refused: pr.lister.refusals(w),
		Foreign:   w.othersMemory(),
		Suspended: w.suspension(), Kernel: w.process.kernel(),
	}
	out.Note = words.Join(out.Note, words.Suspended(out.Suspended))
	out.Tree = pr.figurer.treeOf(w, out.Meters)
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
		meters := pr.figurer.figureMap(c.figures, w, false, p.info.Python != "")
		maps.DeleteFunc(meters, func(_ string, f model.Figure) bool { return f.Exact && f.Peak == 0 })
		out.Children = append(out.Children, model.Child{PID: int(p.info.PID), Command: p.info.Command, Meters: meters})
	}
	return out
}

// isBelow says whether a process is a child of another, or a child's child: not its parent, not another child of that.
func (ps *processes) isBelow(p, of *process) bool {
	const deepest = 64
	for range deepest {
		if p == nil || p.parent == 0 || p == of {
			return false
		}
		if p.parent == of.info.PID {
			return true
		}
		p = ps.byPID[p.parent]
	}
	return false
}

func (s *session) duration(w *window) int64 {
	if w.isOpen {
		return int64(s.last - w.opened)
	}
	return int64(w.closed - w.opened)
}

func (pr *presenter) between(w *window) model.Between {
	out := model.Between{
		PID: int(w.process.info.PID), Kernel: w.process.kernel(), Note: w.note, StartNS: pr.session.since(w.opened),
		DurationNS: pr.session.duration(w),
		Meters:     pr.figurer.figureMap(w.own, w, true, w.process.info.Python != ""), Refused: pr.lister.refusals(w),
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
