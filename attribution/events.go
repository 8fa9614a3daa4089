package attribution

import (
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
)

// maxBehind is the largest number of changes that may come between a boundary and its readings. It is more than a ring
// of 16 MiB holds, because changes are read before each record of the boundaries' ring.
const maxBehind = 1 << 18

// maxDescriptive is the largest number of descriptive events (see isDescriptive) that may come between a boundary and
// its readings.
const maxDescriptive = 64

// add takes in the next event. When it returns, the memory of a boundary or a change may be reused for another one.
func (in *sequence) add(e event.Event) {
	switch e := e.(type) {
	case *event.Reading:
		// A boundary of another CPU may overtake an earlier boundary. The earlier boundary's readings then count with
		// the later boundary, or with one still later: see gather.
		if in.pending == nil {
			in.wait(in.Processes.TreeOfReading(e, nil), e)
		} else if in.Limits.Room(&in.Limits.Readings, len(in.readings) < windows.MaxReadings) {
			in.readings = append(in.readings, e)
		}
		return
	case *event.Change:
		in.change(e)
		// By now the readings would have come, or there is no room for more changes that wait for the boundary.
		in.behind++
		isQueueFull := in.queue.waits >= stacks.MaxWaits
		if in.behind > maxBehind || in.pending != nil && isQueueFull {
			in.flush()
		}
		return
	case *event.Refusal, *event.Foreign:
		in.fileRequest(e)
		return
	case *event.Lull:
		in.flush()
		return
	case *event.Stack:
		in.Stacks.AddOrDrop(e)
		return
	case *event.Holders:
		in.Processes.SetPool(e)
		in.blocks.HeldBy(e)
		return
	case *event.Variables:
		in.namespaces.List(e)
		return
	case *event.Residence:
		in.namespaces.ListResidence(e)
		return
	}
	if isDescriptive(e) && in.pending != nil && len(in.descriptive) < maxDescriptive {
		in.descriptive = append(in.descriptive, e)
		return
	}
	in.flush()
	in.dispatch(e)
}

// isDescriptive reports whether an event only describes something. Such an event may come between a boundary and its
// readings, and waits for the readings. It opens and closes no window, so its time of arrival does not matter.
func isDescriptive(e event.Event) bool {
	switch e.(type) {
	case *event.CellSource, *event.Limits, *event.Ending:
		return true
	}
	return false
}

// dispatch takes in an event that is no change, reading or search result, once the boundary before it is settled.
func (in *sequence) dispatch(e event.Event) {
	switch e := e.(type) {
	case *event.Start:
		in.Session.SetStart(e)
		for _, info := range e.Processes {
			in.introduce(info)
		}
	case *event.Process:
		in.introduce(e.ProcessInfo)
	case *event.CellSource:
		in.activity.Source(e)
	case *event.Boundary:
		in.activity.Windows.Settle()
		in.drawn = *e
		in.pending = &in.drawn
	case *event.Limits:
		in.Processes.SetLimits(e)
	case *event.Ending:
		in.Processes.SetEnding(e)
	case *event.Settled:
		in.finish(&e.Finish)
		in.queue.handOnAll()
	case *event.Finish:
		in.finish(e)
	}
}

// finish takes in how the session ended. It is called twice: a later event has more facts and replaces the first.
func (in *sequence) finish(f *event.Finish) {
	isFirst := in.Session.SetFinish(f)
	if in.Session.IsCut() {
		in.namespaces.CutShort()
	}
	in.Table.Hindsight.AddUnreported(f.Lost, in.Table.Closings)
	in.Processes.SetUnprobed(f.Unprobed)
	if isFirst {
		in.endAll()
		in.activity.CompareShells(f.Shells)
	}
}

// flush settles the last boundary, see [Tracker.Flush].
func (in *sequence) flush() {
	if in.pending == nil {
		return
	}
	boundary, readings, descriptive := in.pending, in.readings, in.descriptive
	in.pending, in.readings, in.descriptive, in.behind = nil, nil, nil, 0
	in.settle(boundary, readings)
	for _, e := range descriptive {
		in.dispatch(e)
	}
}

// introduce records a new process, or further facts on a known one.
func (in *sequence) introduce(info event.ProcessInfo) {
	process := in.Processes.Process(info.PID, info.Root)
	// Pythons have room beyond that of other processes, because they may run cells.
	hasRoom := len(in.Processes.Order) < in.Limits.MaxProcesses+windows.MaxPythons
	if process == nil && info.Python != "" && hasRoom {
		process = in.Processes.Adopt(info.PID, info.Root)
	}
	if process == nil {
		return
	}
	if process.Info = in.Limits.Bounded(info); info.IPython != "" {
		in.Processes.Kernels.Add(process)
	}
	if process.Inputs < 0 {
		process.Inputs = info.Inputs
		// IPython's In begins with one empty entry. Unless the attach was late, all other entries are cells that the
		// tracer watched.
		if !info.Late {
			process.Inputs = min(process.Inputs, 1)
		}
	}
	isWholeChild := process.Alive && process.Parent != 0 && process.Session == nil && !process.Adopted
	if info.Python != "" && isWholeChild && process.Lifetime == nil && in.blocks.Keeps(windows.KindLife) {
		process.Lifetime = in.activity.Windows.Open(process, in.Processes.Now(process), windows.KindLife, nil)
	}
}

// endAll closes the windows that a stream left open, as a cut recording does.
func (in *sequence) endAll() {
	for _, p := range in.Processes.Order {
		in.activity.CloseProcess(p, in.Processes.Now(p), words.RecordingEnds)
	}
}
