package attribution

import (
	"maps"

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
}

func (pr *presenter) window(w *window) model.Window {
	out := model.Window{
		ID: w.id, Kind: kindNames[w.kind], PID: int(w.process.info.PID), Execution: w.execution, Name: w.name,
		Line: w.parent.lineOf(w.line), Source: pr.texts.sourceOf(w), SourceTruncated: w.truncated, Status: w.status,
		Error: w.failure, Note: w.note,
		StartNS: pr.session.since(w.opened), DurationNS: pr.session.duration(w), CPUNS: -1,
		Meters:   pr.figurer.figureMap(w.own, w, true, w.process.info.Python != ""),
		Children: []model.Child{}, ChildrenUnlisted: w.measured.unlisted, Refused: pr.refusals(w),
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

func (pr *presenter) between(w *window) model.Between {
	out := model.Between{
		PID: int(w.process.info.PID), Kernel: w.process.kernel(), Note: w.note, StartNS: pr.session.since(w.opened),
		DurationNS: pr.session.duration(w),
		Meters:     pr.figurer.figureMap(w.own, w, true, w.process.info.Python != ""), Refused: pr.refusals(w),
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
