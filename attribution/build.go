package attribution

import (
	"fmt"
	"maps"
	"sort"
	"time"

	"ipytracer/report"
	"ipytracer/tracer/event"
)

// Finished returns the cells that closed since the last call, for live output, without who allocated in them. Figures of cells do not change
// after they have closed, except that a late loss may still mark one as not proven.
func (t *Tracker) Finished() []report.Window {
	var out []report.Window
	for _, w := range t.done {
		out = append(out, t.window(w))
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
func (t *Tracker) Report() *report.Report {
	r := t.Stream()
	r.Windows = []report.Window{}
	for w := range r.Stream {
		r.Detail(w)
		r.Windows = append(r.Windows, *w)
	}
	r.Stream, r.Detail = nil, nil
	return r
}

// Stream returns the same as [Tracker.Report], but its windows are made one at a time, whenever they are asked for. No event may be
// added before it has been printed.
func (t *Tracker) Stream() *report.Report {
	t.Flush()
	t.handOnAll()
	r := &report.Report{
		Schema: report.Schema, Processes: []report.Process{}, Meters: t.meters(),
		Between: []report.Between{}, Stream: t.each, Detail: t.detail,
	}
	r.Host = t.host()
	if t.finish != nil {
		for _, g := range t.finish.GPUs {
			r.GPUs = append(r.GPUs, report.GPU{Index: g.Index, UUID: g.UUID, PCIBusID: g.PCIBusID, Name: g.Name, Memory: int64(g.Memory)})
		}
	}
	for _, p := range t.order {
		if p.began != 0 {
			r.Processes = append(r.Processes, t.describe(p))
		}
	}
	for _, w := range t.windows {
		if w.kind == kindBetween {
			r.Between = append(r.Between, t.between(w))
		}
	}
	r.Lines, r.Tensors = t.lines(), t.tensors()
	r.Variables, r.Names = t.variables()
	r.Resident = t.resident()
	r.Certificate = t.certificate()
	return r
}

// each makes the windows of a report, in the order they began.
func (t *Tracker) each(yield func(*report.Window) bool) {
	for _, w := range t.windows {
		if !w.isReported() {
			continue
		}
		whole := t.window(w)
		if !yield(&whole) {
			return
		}
	}
}

// detail says who allocated in a window of a report.
func (t *Tracker) detail(of *report.Window) {
	i := sort.Search(len(t.windows), func(i int) bool { return t.windows[i].id >= of.ID })
	for i < len(t.windows) && !t.windows[i].isReported() {
		i++
	}
	if i < len(t.windows) && t.windows[i].id == of.ID {
		of.Allocations, of.Coverage = t.allocationsOf(t.windows[i])
	}
}

func (t *Tracker) host() report.Host {
	if t.start == nil {
		return report.Host{}
	}
	h := t.start.Host
	out := report.Host{Name: h.Name, Kernel: h.Kernel, CPUs: h.CPUs, Memory: int64(h.Memory), Tracer: h.Tracer}
	if t.began != 0 {
		wall := int64(h.WallNow) + int64(t.began-h.MonoNow)
		out.Started = time.Unix(0, wall).UTC().Format(time.RFC3339Nano)
	}
	return out
}

// since is a time as the report counts it: from the first boundary.
func (t *Tracker) since(at event.Nanoseconds) int64 {
	if at == 0 {
		at = t.last
	}
	return int64(at - t.began)
}

func (t *Tracker) describe(p *process) report.Process {
	gone := p.gone
	if !p.ended {
		gone = t.last
	}
	return report.Process{
		PID: int(p.info.PID), Parent: int(p.parent), Command: p.info.Command, Python: p.info.Python,
		IPython: p.info.IPython, Frontend: p.info.Frontend, StartNS: t.since(p.began), EndNS: t.since(gone),
		Ended: p.ended, Late: p.info.Late, RestartOf: t.restartOf(p), Meters: t.figureMap(p.life, nil, p.info.Python != ""),
	}
}

func (t *Tracker) window(w *window) report.Window {
	out := report.Window{
		ID: w.id, Kind: kindNames[w.kind], PID: int(w.process.info.PID), Execution: w.execution, Name: w.name,
		Line: w.line, Source: w.source, SourceTruncated: w.truncated, Status: w.status, Note: w.note,
		StartNS: t.since(w.opened), DurationNS: t.duration(w), CPUNS: -1,
		Meters: t.figureMap(w.own, w, w.process.info.Python != ""), Tree: t.figureMap(w.tree, nil, w.process.info.Python != ""),
		Children: []report.Child{}, Refused: t.refusals(w), Foreign: w.othersMemory(),
	}
	if w.parent != nil {
		out.Parent = w.parent.id
	}
	out.Silent = w.silent
	for pid := range w.shares {
		widenAll(out.Tree, w.shares[pid])
		unseen(out.Tree)
	}
	maps.DeleteFunc(out.Tree, func(id string, f report.Figure) bool { own, ok := out.Meters[id]; return ok && own.Equal(f) })
	if w.count >= 0 {
		count := w.count
		out.ExecutionCount = &count
	}
	if w.openCPU > 0 && w.closeCPU >= w.openCPU {
		out.CPUNS = int64(w.closeCPU - w.openCPU)
	}
	if w.isOpen {
		out.Status = report.Incomplete
	}
	for _, p := range t.order {
		if f := w.children[p.info.PID]; f != nil && t.isBelow(p, w.process) {
			meters := t.figureMap(*f, nil, p.info.Python != "")
			maps.DeleteFunc(meters, func(_ string, f report.Figure) bool { return f.Exact && f.Peak == 0 })
			out.Children = append(out.Children, report.Child{PID: int(p.info.PID), Command: p.info.Command, Meters: meters})
		}
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

func (t *Tracker) between(w *window) report.Between {
	out := report.Between{
		PID: int(w.process.info.PID), Note: w.note, StartNS: t.since(w.opened), DurationNS: t.duration(w),
		Meters: t.figureMap(w.own, w, w.process.info.Python != ""), Refused: t.refusals(w),
	}
	switch {
	case w.before == nil && w.after == nil:
		out.Label = "no cell ran"
	case w.before == nil:
		out.After, out.Before = 0, w.after.id
		out.Label = "before " + cellName(w.after)
	case w.after == nil:
		out.After = w.before.id
		out.Label = "after " + cellName(w.before)
	default:
		out.After, out.Before = w.before.id, w.after.id
		out.Label = fmt.Sprintf("between %s and %s", cellName(w.before), cellName(w.after))
	}
	return out
}

func cellName(w *window) string {
	switch {
	case w.silent:
		return fmt.Sprintf("a silent cell (run %d)", w.execution)
	case w.count < 0:
		return fmt.Sprintf("a cell (run %d)", w.execution)
	}
	return fmt.Sprintf("In[%d]", w.count)
}

// figureMap turns figures into the report's form. w is nil where nothing but the probes limits exactness.
func (t *Tracker) figureMap(f figures, w *window, numpy bool) map[string]report.Figure {
	out := map[string]report.Figure{}
	for m := range event.Meter(event.MeterCount) {
		if !t.shows(m, w, numpy) {
			continue
		}
		exact, bound := t.quality(m, w)
		peak := max(f.peak[m], f.start[m], f.end[m])
		if w != nil && w.recomputed[m] > peak { // the stream saw more than the ledger: see Proof
			exact, bound = false, widen(bound, w.recomputed[m]-peak)
			peak = w.recomputed[m]
		}
		out[m.String()] = report.Figure{
			Start: int64(f.start[m]), Peak: int64(peak), End: int64(f.end[m]),
			Consumed: int64(f.end[m] - f.start[m]), Peaked: int64(peak - max(f.start[m], f.end[m])),
			Exact: exact, Bound: bound,
		}
	}
	return out
}

// widenAll makes figures bounds that can be too low by what is shared.
func widenAll(figures map[string]report.Figure, shared event.Readings) {
	for m := range event.Meter(event.MeterCount) {
		f, ok := figures[m.String()]
		if !ok || shared[m] <= 0 {
			continue
		}
		f.Exact, f.Bound = false, widen(f.Bound, shared[m])
		figures[m.String()] = f
	}
}

// unseen makes figures of arrays and tensors lower bounds: a forked child has no probes, what it makes is in none of them.
func unseen(figures map[string]report.Figure) {
	for _, m := range []event.Meter{event.NumPy, event.Torch} {
		if f, ok := figures[m.String()]; ok {
			f.Exact, f.Bound = false, nil
			figures[m.String()] = f
		}
	}
}

func widen(bound *int64, by event.Bytes) *int64 {
	if bound == nil {
		return nil
	}
	wider := *bound + int64(by)
	return &wider
}

// quality says how good a meter's figures in a window are; a nil bound is one nobody can state.
func (t *Tracker) quality(m event.Meter, w *window) (exact bool, bound *int64) {
	zero := int64(0)
	exact, bound = true, &zero
	if t.start != nil {
		for _, s := range t.start.Meters {
			if s.Meter == template(m) && !s.Exact {
				exact = false
				if s.Bound < 0 {
					return false, nil
				}
				b := int64(s.Bound)
				bound = &b
			}
		}
	}
	if w == nil {
		return exact, bound
	}
	if w.shed[m] {
		return false, nil
	}
	if m == event.Heap {
		if slack := w.closeHeap - w.openHeap; !w.isOpen && slack > 0 {
			return false, widen(bound, slack)
		}
		return exact, bound
	}
	if m == event.Torch {
		if !w.isOpen && w.closeUnknownTorch > w.openUnknownTorch {
			return false, widen(bound, w.closeTorch-w.openTorch+w.unsureTorch)
		}
		if w.unsureTorch > 0 {
			return false, widen(bound, w.unsureTorch)
		}
		return exact, bound
	}
	if m >= event.Pinned && w.closeDevice > w.openDevice {
		if _, kind, ok := m.Device(); !ok || kind != event.Active { // freed memory of unknown size may have been any of these
			return false, nil
		}
	}
	if m != event.NumPy {
		return exact, bound
	}
	unknown, slack := w.closeUnknown-w.openUnknown, w.closeSlack-w.openSlack
	if !w.isOpen && unknown > 0 {
		return false, widen(bound, slack+w.unsure)
	}
	if w.unsure > 0 {
		return false, widen(bound, w.unsure)
	}
	return exact, bound
}

func (t *Tracker) meters() []report.Meter {
	out := []report.Meter{}
	if t.start == nil {
		return out
	}
	sources := t.start.Meters
	for m := range event.Meter(event.MeterCount) {
		if !alwaysThere(m) && !t.gpus.used[m] {
			continue
		}
		for _, s := range sources {
			if s.Meter == template(m) {
				exact, bound := t.quality(m, nil)
				out = append(out, report.Meter{ID: m.String(), Unit: "bytes", Source: s.Source, Exact: exact && !s.Absent, Bound: bound})
			}
		}
	}
	return out
}
