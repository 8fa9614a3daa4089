package attribution

import (
	"slices"

	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
)

// apply carries out a boundary.
func (in *sequence) apply(r *windows.Tree, b *event.Boundary) {
	p := in.Processes.Process(b.PID, b.Root)
	if p == nil {
		r.Crowded = windows.Pause{Now: true, Cut: in.Session.Cut}
		return
	}
	in.blocks.Boundary(p, b)
	switch b.Kind {
	case event.Attached:
		in.join(p, b)
		p.Session = in.activity.Windows.Open(p, b, windows.KindSession, nil)
		in.activity.StartBetween(p, b)
	case event.Detached:
		in.activity.CloseProcess(p, b, words.StillRuns)
		for _, other := range in.Processes.Order { // other kernels of a server
			if other != p && other.Root == p.Root && other.Alive {
				in.activity.CloseProcess(other, in.Processes.Now(other), words.StillRuns)
			}
		}
	case event.ProcessStart:
		in.join(p, b)
		p.Parent = b.Parent
		if !in.hasExecuted(p, b) {
			p.Copied, p.IsForked, p.IsFound = course.LevelsOf(&b.Value, in.GPUs.Meters), true, b.Late
		}
	case event.ProcessExec:
		in.exec(p, b)
	case event.ProcessExit:
		in.activity.Invariants.Ends(p)
		p.Ended, p.Gone = true, b.Time
		r.Lives(p, in.Session.Cut, false)
		p.Dying(b)
		in.activity.CloseProcess(p, b, words.ProcessEnded)
		delete(r.Away, b.PID)
		p.Gauges.Clear(in.Session.Cut, r.Latest())
		p.IsForked = false
		in.blocks.Ended(b.PID)
	case event.CellOpen:
		in.activity.OpenCell(r, p, b)
	case event.CellResult:
		in.activity.CellResult(p, b)
	case event.CellClose:
		in.activity.CloseCell(p, b)
	case event.StatementOpen:
		in.activity.OpenStatement(p, b)
	case event.StatementClose:
		in.activity.CloseStatement(b, activity.OutcomeStatus(b.Outcome))
	case event.ExperimentBegin:
		in.activity.BeginExperiment(r, p, b)
	case event.ExperimentEnd:
		in.activity.EndExperiment(p, b)
	case event.MeterShed, event.MeterBack:
		in.pauseProbes(r, b)
	}
}

// hasExecuted reports whether a child that was there at the attach is known to share nothing with its parent: one that
// has executed no program has its parent's command line.
func (in *sequence) hasExecuted(p *windows.Process, b *event.Boundary) bool {
	parent := in.Processes.ByPID[b.Parent]
	return b.Late && parent != nil && parent.Info.Command != "" && p.Info.Command != "" &&
		p.Info.Command != parent.Info.Command
}

func (in *sequence) join(p *windows.Process, b *event.Boundary) {
	r := in.Processes.Tree(b.Root)
	p.Began = b.Time
	r.Lives(p, in.Session.Cut, true)
	r.Moved(p, in.Session.Cut)
	r.BeginPaused(p)
	p.Life = course.StartFigures(&b.Value, in.GPUs.Meters)
	if b.Command != "" && p.Info.Command == "" {
		p.Info.Command, _ = in.Limits.Keep(b.Command, windows.MaxName)
	}
}

// exec continues a process with another program; the code that ran in it is over.
func (in *sequence) exec(p *windows.Process, b *event.Boundary) {
	if !p.Alive {
		in.join(p, b)
		p.Parent = b.Parent
	}
	for len(p.Open) > 0 {
		in.activity.AbandonCell(p, b, words.ProcessExeced)
	}
	if b.Command != "" {
		p.Info.Command, _ = in.Limits.Keep(b.Command, windows.MaxName)
	}
	if p.IsForked { // it was forked with its parent's memory
		p.Copied, p.IsForked = nil, false
		p.Life = course.StartFigures(&b.Value, in.GPUs.Meters)
		for i := range p.Life {
			p.Life[i].Peak = b.High[p.Life[i].Meter]
		}
		for _, m := range in.GPUs.Meters {
			if b.High[m] != 0 {
				p.Life.Need(m).Peak = b.High[m]
			}
		}
	}
	p.Inputs = -1
	if p.Session == nil && p.Parent == 0 {
		p.Session = in.activity.Windows.Open(p, b, windows.KindSession, nil)
		in.activity.StartBetween(p, b)
	}
}

// pauseProbes records that a root's probe group was paused or resumed, and marks the windows that are open.
func (in *sequence) pauseProbes(r *windows.Tree, b *event.Boundary) {
	down := b.Kind == event.MeterShed
	paused := b.Group.Paused()
	switch {
	case len(paused) > 0:
		r.SetPaused(in.Session.Cut, b.Group, down, paused...)
	case b.Group.IsOfStacks():
		if forgotten := b.Group.Forgotten(); down && len(forgotten) > 0 {
			in.blocks.Forget(b.Root, func(m event.Meter) bool { return slices.Contains(forgotten, m.Template()) })
		}
		in.pauseStacks(r, b)
	default: // it serves no meter
		if down {
			in.Paused.Add(windows.ProbeGroup{Group: b.Group, Text: b.Probes})
		}
		if down && b.Group == event.Statements {
			in.activity.CutShort(r, b)
		}
	}
}

// pauseStacks records that stacks are not walked, or are walked again.
func (in *sequence) pauseStacks(r *windows.Tree, b *event.Boundary) {
	if r.PausedStacks == nil {
		r.PausedStacks = map[event.Group]windows.Pause{}
	}
	r.PausedStacks[b.Group] = windows.Pause{Now: b.Kind == event.MeterShed, Cut: in.Session.Cut}
	in.Paused.AddStacks()
}
