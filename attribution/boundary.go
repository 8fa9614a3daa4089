package attribution

import (
	"slices"

	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
)

// apply applies a boundary that ended a segment: it begins and ends processes, windows and pauses.
func (in *sequence) apply(tree *windows.Tree, boundary *event.Boundary) {
	process := in.Processes.Process(boundary.PID, boundary.Root)
	if process == nil {
		tree.Crowded = windows.Pause{Now: true, Cut: in.Session.Cut}
		return
	}
	in.blocks.Boundary(process, boundary)
	process.SwappedNow = windows.SwappedAt(boundary)
	if process.SeeContainer(boundary, in.Session.Cut, tree) && !process.HasMoved {
		process.HasMoved = true
		in.Problems.Add(words.Problem{Kind: words.ContainerLeft, PID: int(boundary.PID)})
	}
	switch boundary.Kind {
	case event.Attached:
		in.join(process, boundary)
		process.Session = in.activity.Windows.Open(process, boundary, windows.KindSession, nil)
		in.activity.StartBetween(process, boundary)
	case event.Detached:
		in.activity.CloseProcess(process, boundary, words.StillRuns)
		for _, other := range in.Processes.Order { // other kernels of a server
			if other != process && other.Root == process.Root && other.Alive {
				in.activity.CloseProcess(other, in.Processes.Now(other), words.StillRuns)
			}
		}
	case event.ProcessStart:
		in.join(process, boundary)
		in.fork(process, boundary)
	case event.ProcessExec:
		in.exec(process, boundary)
	case event.ProcessExit:
		in.activity.Invariants.Ends(process)
		process.Ended, process.Gone = true, boundary.Time
		tree.SetAlive(process, in.Session.Cut, false)
		process.Dying(boundary)
		in.activity.CloseProcess(process, boundary, words.ProcessEnded)
		delete(tree.Away, boundary.PID)
		process.Gauges.Clear(in.Session.Cut, tree.Latest())
		process.IsForked = false
		in.blocks.Ended(boundary.PID)
	case event.CellOpen:
		in.activity.OpenCell(tree, process, boundary)
	case event.CellResult:
		in.activity.CellResult(process, boundary)
	case event.CellClose:
		in.activity.CloseCell(process, boundary)
	case event.StatementOpen:
		in.activity.OpenStatement(process, boundary)
	case event.StatementClose:
		in.activity.CloseStatement(boundary, activity.OutcomeStatus(boundary.Outcome))
	case event.ExperimentBegin:
		in.activity.BeginExperiment(tree, process, boundary)
	case event.ExperimentEnd:
		in.activity.EndExperiment(process, boundary)
	case event.MeterShed, event.MeterBack:
		in.pauseProbes(tree, boundary)
	}
}

// fork takes in the beginning of a process that another one has forked.
func (in *sequence) fork(process *windows.Process, boundary *event.Boundary) {
	process.Parent = boundary.Parent
	if parent := in.Processes.ByPID[boundary.Parent]; parent != nil {
		parent.Forks()
	}
	if !in.hasExecuted(process, boundary) {
		process.Copied = course.LevelsOf(&boundary.Value, in.GPUs.Meters)
		process.IsForked, process.IsFound = true, boundary.Late
	}
}

// hasExecuted reports whether a child that was there at the attach is known to have executed a program, so that it
// shares no memory with its parent. Before that, a child has its parent's command line.
func (in *sequence) hasExecuted(p *windows.Process, b *event.Boundary) bool {
	parent := in.Processes.ByPID[b.Parent]
	return b.Late && parent != nil && parent.Info.Command != "" && p.Info.Command != "" &&
		p.Info.Command != parent.Info.Command
}

// join begins the life of a process at a boundary.
func (in *sequence) join(process *windows.Process, boundary *event.Boundary) {
	tree := in.Processes.Tree(boundary.Root)
	process.Began = boundary.Time
	tree.SetAlive(process, in.Session.Cut, true)
	tree.MarkMoved(process, in.Session.Cut)
	tree.BeginPaused(process)
	process.Life = course.StartFigures(&boundary.Value, in.GPUs.Meters)
	if boundary.Command != "" && process.Info.Command == "" {
		process.Info.Command, _ = in.Limits.Keep(boundary.Command, windows.MaxName)
	}
}

// exec continues a process with another program: everything that ran in the process is over.
func (in *sequence) exec(process *windows.Process, boundary *event.Boundary) {
	if !process.Alive {
		in.join(process, boundary)
		process.Parent = boundary.Parent
	}
	for len(process.Open) > 0 {
		in.activity.AbandonCell(process, boundary, words.ProcessExeced)
	}
	if boundary.Command != "" {
		process.Info.Command, _ = in.Limits.Keep(boundary.Command, windows.MaxName)
	}
	if process.IsForked { // it was forked with its parent's memory
		process.DropHeritage()
		process.Life = course.StartFigures(&boundary.Value, in.GPUs.Meters)
		for i := range process.Life {
			process.Life[i].Peak = boundary.High[process.Life[i].Meter]
		}
		for _, m := range in.GPUs.Meters {
			if boundary.High[m] != 0 {
				process.Life.Need(m).Peak = boundary.High[m]
			}
		}
	}
	process.Inputs = -1
	if process.Session == nil && process.Parent == 0 {
		process.Session = in.activity.Windows.Open(process, boundary, windows.KindSession, nil)
		in.activity.StartBetween(process, boundary)
	}
}

// pauseProbes records that a root's probe group was paused or resumed, and marks the windows that are open.
func (in *sequence) pauseProbes(tree *windows.Tree, boundary *event.Boundary) {
	isPause := boundary.Kind == event.MeterShed
	paused := boundary.Group.Paused()
	switch {
	case len(paused) > 0:
		tree.SetPaused(in.Session.Cut, boundary.Group, isPause, paused...)
	case boundary.Group.IsOfStacks():
		if forgotten := boundary.Group.Forgotten(); isPause && len(forgotten) > 0 {
			in.blocks.Forget(boundary.Root, func(m event.Meter) bool {
				return slices.Contains(forgotten, m.Template())
			})
		}
		in.pauseStacks(tree, boundary)
	default: // the group serves no meter
		if isPause {
			in.Paused.Add(windows.ProbeGroup{Group: boundary.Group, Text: boundary.Probes})
		}
		if isPause && boundary.Group == event.Statements {
			in.activity.CloseStatements(tree, boundary)
		}
	}
}

// pauseStacks records that a group's stacks are not walked from now on, or are walked again.
func (in *sequence) pauseStacks(tree *windows.Tree, boundary *event.Boundary) {
	if tree.PausedStacks == nil {
		tree.PausedStacks = map[event.Group]windows.Pause{}
	}
	tree.PausedStacks[boundary.Group] = windows.Pause{Now: boundary.Kind == event.MeterShed, Cut: in.Session.Cut}
	in.Paused.AddStacks(boundary.Group)
}
