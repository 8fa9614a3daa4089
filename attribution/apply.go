package attribution

import (
	"ipytracer/event"
	"ipytracer/model/words"
)

// apply carries out what the boundary says.
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
		for _, other := range in.processes.order { // kernels of a server
			if other != p && other.root == p.root && other.alive {
				in.activity.closeProcess(other, in.processes.now(other), words.StillRuns)
			}
		}
	case event.ProcessStart:
		in.join(p, b)
		p.parent = b.Parent
		p.copied, p.isForked = levelsOf(&b.Value, in.gpus.meters), true
	case event.ProcessExec:
		in.exec(p, b)
	case event.ProcessExit:
		in.invariants.ends(p)
		p.ended, p.gone = true, b.Time
		r.lives(p, in.session.cut, false)
		p.dying(b)
		in.activity.closeProcess(p, b, "the process ended")
		delete(r.away, b.PID)
		p.past.clear(in.session.cut, r.latest())
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

func (in *intake) join(p *process, b *event.Boundary) {
	r := in.processes.root(b.Root)
	p.began, p.line.began = b.Time, b.Time
	r.lives(p, in.session.cut, true)
	r.moved(p, in.session.cut)
	r.bornBlind(p)
	p.life = startFigures(&b.Value, in.gpus.meters)
	if b.Text != "" && p.info.Command == "" {
		p.info.Command, _ = in.limits.keep(b.Text, maxName)
	}
}

// exec: the same process with another program; what it was doing is over.
func (in *intake) exec(p *process, b *event.Boundary) {
	if !p.alive {
		in.join(p, b)
		p.parent = b.Parent
	}
	for len(p.open) > 0 {
		in.activity.abandonCell(p, b, "the process executed another program")
	}
	if b.Text != "" {
		p.info.Command, _ = in.limits.keep(b.Text, maxName)
	}
	if p.isForked { // what it was forked with was its parent's
		p.copied, p.isForked = nil, false
		p.life = startFigures(&b.Value, in.gpus.meters)
		for i := range p.life {
			p.life[i].peak = b.High[p.life[i].meter]
		}
		for _, m := range in.gpus.meters {
			if b.High[m] != 0 {
				p.life.need(m).peak = b.High[m]
			}
		}
	}
	p.inputs = -1
	if p.session == nil && p.parent == 0 {
		p.session = in.windows.open(p, b, kindSession, nil)
		in.activity.startBetween(p, b)
	}
}

// change files one value of the stream under its segment.
func (in *intake) change(c *event.Change) {
	r := in.processes.root(c.Root)
	if c.Segment <= r.archived && r.archived > 0 { // so late that the windows it belongs to may not be there to be told
		in.limits.Late++
		return
	}
	segment := r.changes[c.Segment]
	if _, known := segment[c.PID]; c.Passed == 0 && c.Segment > r.ended && !known && r.ahead >= maxAhead {
		in.limits.Ahead++
		return
	}
	r.stream.received(c.Stream)
	in.gpus.notes.take(c)
	if c.Learned {
		in.gpus.mark(c.Meter)
		if in.limits.room(&in.limits.Ahead, len(r.learned) < maxAsked) {
			learned := *c
			r.learned = append(r.learned, &learned) // its segment's windows may not have opened yet
		}
	}
	in.chart.tell(r, c, in.pending)
	in.queue.inOrder(r, c.Stream, c)
	if c.Caller.Moves() {
		moved := *c
		in.requests.request(r, &moved)
	}
	if c.Passed > 0 {
		if len(r.between) < maxBetween {
			r.between = append(r.between, *c)
		}
		return
	}
	if c.Segment <= r.ended {
		in.late(r, c)
		return
	}
	if segment == nil {
		segment = map[int32]levels{}
		r.changes[c.Segment] = segment
	}
	high, known := segment[c.PID]
	if !known {
		r.ahead++
	}
	high.raise(c.Meter, c.Highest())
	segment[c.PID] = high
}

// late gives a change whose segment is over to the windows that hold the segment.
func (in *intake) late(r *root, c *event.Change) {
	if p := in.processes.byPID[c.PID]; p != nil {
		p.past.need(c.Meter).seen.push(r.cutOf(c.Segment, in.session.cut), c.Highest())
	}
	for _, w := range in.closed.with(c.PID, c.Root, c.Segment) {
		w.recomputed.raise(c.Meter, c.Highest())
	}
}
