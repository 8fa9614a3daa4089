package attribution

import (
	"maps"
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// presenter builds the windows and processes of a report.
type presenter struct {
	*state
	figurer    *figurer
	enders     enders
	symbolizer *symbolizer
}

func (pr *presenter) window(w *window) model.Window {
	out := model.Window{
		ID: w.id, Kind: kindNames[w.kind], PID: int(w.process.info.PID), Execution: w.execution, Name: w.name,
		Line: w.parent.lineOf(w.line), Source: pr.texts.sourceOf(w), SourceTruncated: w.truncated, Status: w.status,
		Error:   w.failure,
		StartNS: pr.session.since(w.opened), DurationNS: pr.session.duration(w), CPUNS: -1,
		Meters:   pr.figurer.figureMap(w.own, w, true, w.process.info.Python != ""),
		Children: []model.Child{}, ChildrenUnlisted: w.measured.unlisted, Refused: pr.refusals(w),
		Foreign:   w.othersMemory(),
		Suspended: w.suspension(), Kernel: w.process.kernel(),
	}
	out.Note = words.Join(w.note.text(), words.Suspended(out.Suspended))
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
		out.Children = append(out.Children, model.Child{PID: int(p.info.PID), Command: p.info.Command, Meters: meters,
			Shared: pr.enders.shared(p)})
	}
	return out
}

func (pr *presenter) between(w *window) model.Between {
	out := model.Between{
		PID: int(w.process.info.PID), Kernel: w.process.kernel(),
		Note: words.Join(w.note.text(), words.Suspended(w.suspension())), StartNS: pr.session.since(w.opened),
		DurationNS: pr.session.duration(w),
		Meters:     pr.figurer.figureMap(w.own, w, true, w.process.info.Python != ""), Refused: pr.refusals(w),
	}
	out.Tree = pr.figurer.treeOf(w, out.Meters)
	if w.before != nil {
		out.After = w.before.id
	}
	if w.after != nil {
		out.Before = w.after.id
	}
	out.Label = words.Between(bareName(w.before), bareName(w.after)) + words.OfKernel(w.process.kernel())
	return out
}

// refusals returns a window's refusals, each with the stack of the largest request and with the dividers at it.
func (pr *presenter) refusals(w *window) []model.Refusal {
	out := slices.Clone(w.refused)
	for i := range out {
		by := w.refusedBy[i]
		if s := pr.stacks.Of(by.Stack); s != nil {
			out[i].Stack = pr.symbolizer.frames(w, s)
		}
		for _, d := range by.dividers {
			if s := pr.stacks.Of(d.stack); s != nil {
				out[i].Dividers = append(out[i].Dividers, model.Divider{Bytes: int64(d.size),
					Before: int64(d.before), After: int64(d.after), Stack: pr.symbolizer.frames(w, s)})
			}
		}
	}
	return out
}

func (pr *presenter) describe(p *process, restartOf int, sessions map[*window]*window) model.Process {
	gone := p.gone
	if !p.ended {
		gone = pr.session.last
	}
	session := sessions[pr.processes.sessionOf(p)]
	out := model.Process{
		PID: int(p.info.PID), Parent: int(p.parent), Command: p.info.Command, Python: p.info.Python,
		IPython: p.info.IPython, Frontend: p.info.Frontend, Notebook: p.info.Notebook, Kernel: p.kernel(),
		StartNS: pr.session.since(p.began), EndNS: pr.session.since(gone),
		Ended: p.ended, Ending: endingOf(p), Limits: p.limits, Late: p.info.Late || p.adopted, RestartOf: restartOf,
		Meters: pr.figurer.figureMap(p.certainLife(), session, false, p.info.Python != ""),
	}
	if p.adopted { // its values and peaks before that are not known
		for id, f := range out.Meters {
			f.Exact, f.Bound = false, nil
			out.Meters[id] = f
		}
	}
	if p.alive && !p.ended && p.parent != 0 {
		by := pr.enders.of(p, "")
		out.Shared, out.EndedBy = pr.enders.shared(p), &by
	}
	if p.info.Limit > 0 {
		out.SoftLimit = &model.SoftLimit{Bytes: int64(p.info.Limit), By: string(p.info.LimitBy)}
	}
	return out
}
