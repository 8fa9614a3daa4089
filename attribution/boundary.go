package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
	"ipytracer/internal/words"
)

// apply carries out a boundary.
func (in *intake) apply(r *root, b *event.Boundary) {
	p := in.processes.process(b.PID, b.Root)
	if p == nil {
		r.crowded = shedding{true, in.session.cut}
		return
	}
	in.ledger.boundary(p, b)
	switch b.Kind {
	case event.Attached:
		in.join(p, b)
		p.session = in.windows.open(p, b, kindSession, nil)
		in.activity.startBetween(p, b)
	case event.Detached:
		in.activity.closeProcess(p, b, words.StillRuns)
		for _, other := range in.processes.order { // other kernels of a server
			if other != p && other.root == p.root && other.alive {
				in.activity.closeProcess(other, in.processes.now(other), words.StillRuns)
			}
		}
	case event.ProcessStart:
		in.join(p, b)
		p.parent = b.Parent
		if !in.hasExecuted(p, b) {
			p.copied, p.isForked, p.isFound = course.LevelsOf(&b.Value, in.gpus.meters), true, b.Late
		}
	case event.ProcessExec:
		in.exec(p, b)
	case event.ProcessExit:
		in.invariants.ends(p)
		p.ended, p.gone = true, b.Time
		r.lives(p, in.session.cut, false)
		p.dying(b)
		in.activity.closeProcess(p, b, words.ProcessEnded)
		delete(r.away, b.PID)
		p.past.Clear(in.session.cut, r.latest())
		p.isForked = false
		in.ledger.ended(b.PID)
	case event.CellOpen:
		in.activity.openCell(r, p, b)
	case event.CellResult:
		in.activity.cellResult(p, b)
	case event.CellClose:
		in.activity.closeCell(p, b)
	case event.StatementOpen:
		in.activity.openStatement(p, b)
	case event.StatementClose:
		in.activity.closeStatement(b, outcomeStatus(b.Outcome))
	case event.ExperimentBegin:
		in.activity.beginExperiment(r, p, b)
	case event.ExperimentEnd:
		in.activity.endExperiment(p, b)
	case event.MeterShed, event.MeterBack:
		in.shedding(r, b)
	}
}

// hasExecuted reports whether a child that was there at the attach is known to share nothing with its parent: one that
// has executed no program has its parent's command line.
func (in *intake) hasExecuted(p *process, b *event.Boundary) bool {
	parent := in.processes.byPID[b.Parent]
	return b.Late && parent != nil && parent.info.Command != "" && p.info.Command != "" &&
		p.info.Command != parent.info.Command
}

func (in *intake) join(p *process, b *event.Boundary) {
	r := in.processes.root(b.Root)
	p.began = b.Time
	r.lives(p, in.session.cut, true)
	r.moved(p, in.session.cut)
	r.bornBlind(p)
	p.life = course.StartFigures(&b.Value, in.gpus.meters)
	if b.Command != "" && p.info.Command == "" {
		p.info.Command, _ = in.limits.keep(b.Command, maxName)
	}
}

// exec continues a process with another program; the code that ran in it is over.
func (in *intake) exec(p *process, b *event.Boundary) {
	if !p.alive {
		in.join(p, b)
		p.parent = b.Parent
	}
	for len(p.open) > 0 {
		in.activity.abandonCell(p, b, words.ProcessExeced)
	}
	if b.Command != "" {
		p.info.Command, _ = in.limits.keep(b.Command, maxName)
	}
	if p.isForked { // it was forked with its parent's memory
		p.copied, p.isForked = nil, false
		p.life = course.StartFigures(&b.Value, in.gpus.meters)
		for i := range p.life {
			p.life[i].Peak = b.High[p.life[i].Meter]
		}
		for _, m := range in.gpus.meters {
			if b.High[m] != 0 {
				p.life.Need(m).Peak = b.High[m]
			}
		}
	}
	p.inputs = -1
	if p.session == nil && p.parent == 0 {
		p.session = in.windows.open(p, b, kindSession, nil)
		in.activity.startBetween(p, b)
	}
}

// shedding records that a root's probe group was stepped down or up, and marks the windows that are open.
func (in *intake) shedding(r *root, b *event.Boundary) {
	down := b.Kind == event.MeterShed
	paused := b.Group.Paused()
	switch {
	case len(paused) > 0:
		r.sheds(in.session.cut, b.Group, down, paused...)
	case b.Group.IsOfStacks():
		if forgotten := b.Group.Forgotten(); down && len(forgotten) > 0 {
			in.ledger.forget(b.Root, func(m event.Meter) bool { return slices.Contains(forgotten, m.Template()) })
		}
		in.stacksAreShed(r, b)
	default: // it serves no meter
		if down {
			in.stepDowns.add(probes{b.Group, b.Probes})
		}
		if down && b.Group == event.Statements {
			in.activity.cutShort(r, b)
		}
	}
}

// stacksAreShed records that stacks are not walked, or are walked again.
func (in *intake) stacksAreShed(r *root, b *event.Boundary) {
	if r.unwalked == nil {
		r.unwalked = map[event.Group]shedding{}
	}
	r.unwalked[b.Group] = shedding{b.Kind == event.MeterShed, in.session.cut}
	in.stepDowns.addStacks()
}
