package rows

import (
	"maps"
	"slices"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// presenter builds the windows and processes of a report.
type presenter struct {
	*windows.State
	figurer    *figurer
	enders     Enders
	symbolizer *symbolizer
}

// Window returns a window of the report, without the stacks that allocated.
func (pr *presenter) Window(w *windows.Window) model.Window {
	out := model.Window{
		ID: w.ID, Kind: windows.KindNames[w.Kind], PID: int(w.Process.Info.PID), Execution: w.Execution, Name: w.Name,
		Line: w.Parent.LineOf(w.Line), Source: pr.Texts.SourceOf(w), SourceTruncated: w.Truncated, Status: w.Status,
		Error:   w.Failure,
		StartNS: pr.Session.Since(w.Opened), DurationNS: pr.Session.Duration(w), CPUNS: -1,
		Meters:   pr.figurer.FigureMap(w.Own, w, true, w.Process.Info.Python != ""),
		Children: []model.Child{}, ChildrenUnlisted: w.Measured.Unlisted, Refused: pr.refusals(w),
		Foreign:   w.OthersMemory(),
		Suspended: w.Suspension(), Kernel: w.Process.Kernel(),
	}
	out.Counters, out.Container, out.Swapped = w.Counters(), pr.container(w), w.Swapped()
	out.Note = words.Join(w.Note.Text(), words.Suspended(out.Suspended), words.Swapped(out.Swapped))
	out.Tree = pr.figurer.TreeOf(w, out.Meters)
	if w.Parent != nil {
		out.Parent = w.Parent.ID
	}
	out.Silent = w.Silent
	w.SetLost(&out)
	if w.Count >= 0 {
		count := w.Count
		out.ExecutionCount = &count
	}
	if w.OpenCPU > 0 && w.CloseCPU > 0 { // the later of two boundaries at the same time may have been read first
		out.CPUNS = max(0, int64(w.CloseCPU)-int64(w.OpenCPU))
	}
	if w.IsOpen {
		out.Status = model.Incomplete
	}
	for _, c := range w.Children {
		process := c.Process
		meters := pr.figurer.FigureMap(c.Figures, w, false, process.Info.Python != "")
		maps.DeleteFunc(meters, func(_ string, f model.Figure) bool { return f.Exact && f.Peak == 0 })
		out.Children = append(out.Children, model.Child{PID: int(process.Info.PID), Command: process.Info.Command,
			Meters: meters, Shared: pr.enders.shared(process, c.Figures.Of(event.Copied).Highest())})
	}
	return out
}

// Between returns the time between two cells.
func (pr *presenter) Between(w *windows.Window) model.Between {
	out := model.Between{
		PID: int(w.Process.Info.PID), Kernel: w.Process.Kernel(),
		Note: words.Join(w.Note.Text(), words.Suspended(w.Suspension())), StartNS: pr.Session.Since(w.Opened),
		DurationNS: pr.Session.Duration(w),
		Meters:     pr.figurer.FigureMap(w.Own, w, true, w.Process.Info.Python != ""), Refused: pr.refusals(w),
	}
	out.Tree = pr.figurer.TreeOf(w, out.Meters)
	if w.Before != nil {
		out.After = w.Before.ID
	}
	if w.After != nil {
		out.Before = w.After.ID
	}
	out.Label = words.Between(windows.BareName(w.Before), windows.BareName(w.After)) +
		words.OfKernel(w.Process.Kernel())
	return out
}

// refusals returns a window's refusals, each with the stack of the largest request and with the dividers at it.
func (pr *presenter) refusals(w *windows.Window) []model.Refusal {
	out := slices.Clone(w.Refused)
	for i := range out {
		largest := w.RefusedBy[i]
		if s := pr.Stacks.Of(largest.Stack); s != nil {
			out[i].Stack = pr.symbolizer.Frames(w, s)
		}
		for _, d := range largest.Dividers {
			if s := pr.Stacks.Of(d.Stack); s != nil {
				out[i].Dividers = append(out[i].Dividers, model.Divider{Bytes: int64(d.Size),
					Before: int64(d.Before), After: int64(d.After), Stack: pr.symbolizer.Frames(w, s)})
			}
		}
	}
	return out
}

// Describe returns a process. restartOf is the pid of the kernel that it replaced, 0 for none.
func (pr *presenter) Describe(process *windows.Process, restartOf int,
	sessions map[*windows.Window]*windows.Window) model.Process {
	gone := process.Gone
	if !process.Ended {
		gone = pr.Session.Last
	}
	session := sessions[pr.Processes.SessionOf(process)]
	out := model.Process{
		PID: int(process.Info.PID), Parent: int(process.Parent), Command: process.Info.Command,
		Python: process.Info.Python, IPython: process.Info.IPython, Frontend: process.Info.Frontend,
		Notebook: process.Info.Notebook, Kernel: process.Kernel(),
		StartNS: pr.Session.Since(process.Began), EndNS: pr.Session.Since(gone),
		Ended: process.Ended, Ending: windows.EndingOf(process), Limits: process.Limits,
		Late: process.Info.Late || process.Adopted, RestartOf: restartOf,
		Meters: pr.figurer.FigureMap(process.CertainLife(), session, false, process.Info.Python != ""),
	}
	if process.Adopted { // its values and peaks before the adoption are not known
		for id, f := range out.Meters {
			f.Exact, f.Bound = false, nil
			out.Meters[id] = f
		}
	}
	if process.Alive && !process.Ended && process.Parent != 0 {
		endedBy := pr.enders.Of(process, "")
		out.Shared, out.EndedBy = pr.enders.shared(process, process.Gauges.Value(event.Copied)), &endedBy
	}
	if process.Info.Limit > 0 {
		out.SoftLimit = &model.SoftLimit{Bytes: int64(process.Info.Limit), By: string(process.Info.LimitBy)}
	}
	return out
}

// MeterIDs returns the meters that any window or process of a report has.
func (pr *presenter) MeterIDs() (ids []string) {
	for _, m := range pr.GPUs.Meters {
		if slices.ContainsFunc(pr.Processes.Order,
			func(p *windows.Process) bool {
				return (p.Began != 0 || p.HasWindows) &&
					pr.GPUs.Shows(m, nil, p.Info.Python != "")
			}) {
			ids = append(ids, m.String())
		}
	}
	return ids
}

// Notes returns the notes on GPUs.
func (pr *presenter) Notes() []model.GPUNote {
	if pr.Session.Finish == nil {
		return pr.GPUs.Notes.List(nil, pr.Stacks)
	}
	return pr.GPUs.Notes.List(pr.Session.Finish.GPUs, pr.Stacks)
}

// container returns the memory of a window's container; nil if it is not known.
func (pr *presenter) container(w *windows.Window) *model.Container {
	if w.Container == nil {
		return nil
	}
	out := *w.Container
	out.Bound = int64(max(1, pr.Session.Host().CPUs)) * event.ContainerBatch * int64(pr.Session.Page())
	if pr.Session.IsCut() {
		out.Highest, out.Exact = 0, false
	}
	return &out
}
