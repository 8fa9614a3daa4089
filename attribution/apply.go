package attribution

import (
	"sort"

	"ipytracer/event"
	"ipytracer/model/words"
)

// apply carries out what the boundary says.
func (t *Tracker) apply(r *root, b *event.Boundary) {
	p := t.processes.process(b.PID, b.Root)
	if p == nil {
		r.crowded = shedding{true, t.session.cut}
		return
	}
	if t.audit != nil {
		t.audit.boundary(t, p, b)
	}
	switch b.Kind {
	case event.Attached:
		t.join(p, b)
		p.session = t.openWindow(p, b, kindSession, nil)
		t.startBetween(p, b)
	case event.Detached:
		t.closeProcess(p, b, words.StillRuns)
		for _, other := range t.processes.order { // kernels of a server
			if other != p && other.root == p.root && other.alive {
				t.closeProcess(other, t.processes.now(other), words.StillRuns)
			}
		}
	case event.ProcessStart:
		t.join(p, b)
		p.parent = b.Parent
		p.copied, p.isForked = levelsOf(&b.Value, t.gpus.meters), true
	case event.ProcessExec:
		t.unmapAll(r, b)
		t.exec(p, b)
	case event.ProcessExit:
		t.invariants.ends(p)
		p.ended, p.gone = true, b.Time
		r.lives(p, t.session.cut, false)
		p.dying(b)
		t.closeProcess(p, b, "the process ended")
		delete(r.away, b.PID)
		p.past.clear(t.session.cut, r.latest())
		p.isForked = false
		t.forgetRanges(b.PID)
	case event.CellOpen:
		t.openCell(r, p, b)
	case event.CellResult:
		t.cellResult(p, b)
	case event.CellClose:
		t.closeCell(p, b)
	case event.StatementOpen:
		t.openStatement(p, b)
	case event.StatementClose:
		t.closeStatement(b, outcomeStatus(b.Outcome))
	case event.ExperimentBegin:
		t.beginExperiment(r, p, b)
	case event.ExperimentEnd:
		t.endExperiment(p, b)
	case event.MeterShed, event.MeterBack:
		t.shedding(r, b)
	}
}

func (t *Tracker) join(p *process, b *event.Boundary) {
	r := t.processes.root(b.Root)
	p.began, p.line.began = b.Time, b.Time
	r.lives(p, t.session.cut, true)
	r.moved(p, t.session.cut)
	r.bornBlind(p)
	p.life = startFigures(&b.Value, t.gpus.meters)
	if b.Text != "" && p.info.Command == "" {
		p.info.Command, _ = t.limits.keep(b.Text, maxName)
	}
}

// exec: the same process with another program; what it was doing is over.
func (t *Tracker) exec(p *process, b *event.Boundary) {
	if !p.alive {
		t.join(p, b)
		p.parent = b.Parent
	}
	for len(p.open) > 0 {
		t.abandonCell(p, b, "the process executed another program")
	}
	if b.Text != "" {
		p.info.Command, _ = t.limits.keep(b.Text, maxName)
	}
	if p.isForked { // what it was forked with was its parent's
		p.copied, p.isForked = nil, false
		p.life = startFigures(&b.Value, t.gpus.meters)
		for i := range p.life {
			p.life[i].peak = b.High[p.life[i].meter]
		}
		for _, m := range t.gpus.meters {
			if b.High[m] != 0 {
				p.life.need(m).peak = b.High[m]
			}
		}
	}
	p.inputs = -1
	if p.session == nil && p.parent == 0 {
		p.session = t.openWindow(p, b, kindSession, nil)
		t.startBetween(p, b)
	}
}

// endAll closes what a stream left open: a recording that was cut.
func (t *Tracker) endAll() {
	for _, p := range t.processes.order {
		t.closeProcess(p, t.processes.now(p), "the recording ends here")
	}
}

// now is a boundary at the end of the last segment, where the kernel drew none.
func (ps *processes) now(p *process) *event.Boundary {
	b := &event.Boundary{Time: ps.session.last, Root: p.root, PID: p.info.PID}
	r := ps.roots[p.root]
	if r == nil {
		return b
	}
	b.Stream, b.Segment = r.stream.made, r.ended
	if r.last != nil {
		carry(b, r.last)
	}
	return b
}

// carry gives a boundary what another says that is counted since the beginning.
func carry(b, of *event.Boundary) {
	b.Frees, b.Doubts = of.Frees, of.Doubts
}

// change files one value of the stream under its segment.
func (t *Tracker) change(c *event.Change) {
	r := t.processes.root(c.Root)
	if c.Segment <= r.archived && r.archived > 0 { // so late that the windows it belongs to may not be there to be told
		t.limits.Late++
		return
	}
	segment := r.changes[c.Segment]
	if _, known := segment[c.PID]; c.Passed == 0 && c.Segment > r.ended && !known && r.ahead >= maxAhead {
		t.limits.Ahead++
		return
	}
	r.stream.received(c.Stream)
	t.gpus.notes.take(c)
	if c.Learned {
		t.gpus.mark(c.Meter)
		if t.limits.room(&t.limits.Ahead, len(r.learned) < maxAsked) {
			learned := *c
			r.learned = append(r.learned, &learned) // its segment's windows may not have opened yet
		}
	}
	t.tell(r, c)
	t.inOrder(r, c.Stream, c)
	if c.Caller.Moves() {
		moved := *c
		t.request(r, &moved)
	}
	if c.Passed > 0 {
		if len(r.between) < maxBetween {
			r.between = append(r.between, *c)
		}
		return
	}
	if c.Segment <= r.ended {
		t.late(r, c)
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
func (t *Tracker) late(r *root, c *event.Change) {
	if p := t.processes.byPID[c.PID]; p != nil {
		p.past.need(c.Meter).seen.push(r.cutOf(c.Segment, t.session.cut), c.Highest())
	}
	for _, w := range t.closedWith(c.PID, c.Root, c.Segment) {
		w.recomputed.raise(c.Meter, c.Highest())
	}
}

// cutOf is a cut at which a window that holds a segment that is over was open, and none that opened after it.
func (r *root) cutOf(segment, now uint64) uint64 {
	i := sort.Search(len(r.open), func(i int) bool { return r.open[i].firstSegment > segment })
	for ; i < len(r.open); i++ {
		if w := r.open[i]; w.isOpen {
			return w.since
		}
	}
	return now
}
