package attribution

import (
	"math"
	"slices"

	"ipytracer/event"
)

// moves is what one segment did to the processes of a tree.
type moves map[int32]movement

// movement is what a process has, and what it had: at its highest, and of the values at which it was looked at.
type movement struct {
	value, high, looked *event.Readings
	waited              bool // of more than the segment that ends
}

func (t *Tracker) settle(drawn *event.Boundary, readings []*event.Reading) {
	one := *drawn // others keep what the event says
	b := &one
	t.session.boundaries++
	t.session.numbered = max(t.session.numbered, b.Number)
	r := t.processes.root(b.Root)
	r.follows(b)
	if t.session.began == 0 {
		t.session.began = b.Time
	}
	t.session.last = max(t.session.last, b.Time)
	if p := t.processes.byPID[b.PID]; b.Kind == event.ProcessStart && p != nil && p.ended {
		delete(t.processes.byPID, b.PID) // its pid has been handed on: that is another one
	}
	t.gpus.note(&b.Value, &b.High, &b.Tree, &b.TreeHigh)
	moved := t.gather(r, b, readings)
	own := movement{value: &b.Value, high: &b.High, looked: &b.Value}
	// An exec: the same pid with its old memory, which of a forked process was its parent's. Or another CPU's boundary
	// looked at the process just before it drew this one, which has passed that on the way here.
	if before, again := moved[b.PID]; again && (b.Kind != event.ProcessExec || !t.processes.isForked(b.PID)) {
		own.high, own.looked = highest(*own.high, before.high), highest(*own.looked, before.looked)
	}
	moved[b.PID] = own
	t.withAttached(b, moved)
	r.isOne(b, &own)
	t.endSegment(r, b, moved)
	t.apply(r, b)
	r.breaks(b, t.session.cut)
	t.invariants.segment(b, moved, t)
	t.draw(r, b, moved)
	r.drawnAt = b.Time
	t.tellEarly()
	t.allocateIn(b.Root, r, r.ended+1)
}

// follows puts a boundary behind the one before it of its tree: a CPU that is held up between reading the clock and
// cutting the tree may have read it before the other one did. Then its time is a nanosecond after that, and a window
// and what its meters did over time agree on what lies in it.
func (r *root) follows(b *event.Boundary) {
	if b.Time <= r.drawnAt {
		b.Time = min(r.drawnAt, math.MaxInt64-1) + 1
	}
}

// isOne gives a tree that is its attached process alone what that has. A process is in the tree until its last
// boundary; the kernel half takes out what it had a moment later, and reads a tree and its processes one after another.
// Where a process may have begun without a boundary it is not known who is alone.
func (r *root) isOne(b *event.Boundary, own *movement) {
	isKnown := r.crowded == (shedding{}) && b.Refused[event.RefusedBoundaries] == 0 && b.Kind != event.Attached
	if isKnown && len(r.living) == 1 && r.living[0].parent == 0 && r.living[0].info.PID == b.PID {
		b.Tree, b.TreeHigh = *own.value, *own.high
	}
}

// withAttached makes a boundary's tree at least as high as the attached process: all that it has is the tree's. The
// kernel half keeps no maximum of a tree before its first child, which may begin anywhere in a segment.
func (t *Tracker) withAttached(b *event.Boundary, moved moves) {
	for pid, m := range moved {
		p := t.processes.byPID[pid]
		if m.waited || p == nil || p.parent != 0 || p.session == nil || p.root != b.Root {
			continue
		}
		for _, meter := range t.gpus.meters {
			b.TreeHigh[meter] = max(b.TreeHigh[meter], m.high[meter])
		}
	}
}

// gather is what the readings that came with a boundary, and those that waited for one, say of its segment. Two CPUs'
// boundaries may pass each other. What came with one of another tree waits for one of its own. Where the process's own
// boundary had been drawn when it was looked at, what it reached is of the segment after that, and waits for its end:
// the windows that opened in between have it.
func (t *Tracker) gather(r *root, b *event.Boundary, readings []*event.Reading) moves {
	waited := r.readings
	r.readings, t.waiting = nil, t.waiting-len(r.readings)
	moved := moves{}
	for i, from := range slices.Concat(waited, readings) {
		if of := t.processes.rootOf(from, r); of != r || from.Since > b.Segment {
			t.wait(of, from)
			continue
		}
		t.gpus.note(&from.Value, &from.High)
		one := movement{&from.Value, &from.High, &from.Value, i < len(waited) || from.Since != 0 &&
			from.Since < b.Segment}
		if before, again := moved[from.PID]; again {
			one.high, one.looked = highest(*one.high, before.high), highest(*one.looked, before.looked)
		}
		moved[from.PID] = one
	}
	return moved
}

// rootOf is the tree that a reading is of, as far as that is told; otherwise is what it is else, nil for that of its
// process.
func (ps *processes) rootOf(of *event.Reading, otherwise *root) *root {
	if of.Since != 0 {
		if r := ps.roots[of.Root]; r != nil {
			return r
		}
	}
	if p := ps.byPID[of.PID]; p != nil && otherwise == nil {
		return ps.roots[p.root]
	}
	return otherwise
}

// wait keeps a reading until its tree's next boundary.
func (t *Tracker) wait(r *root, of *event.Reading) {
	if t.limits.room(&t.limits.Readings, r != nil && t.waiting < maxReadings) {
		r.readings = append(r.readings, of)
		t.waiting++
	}
}

func (ps *processes) isForked(pid int32) bool {
	p := ps.byPID[pid]
	return p != nil && p.isForked
}

// endSegment takes in the segment that ends: what every open window of the tree sees of it.
func (t *Tracker) endSegment(r *root, b *event.Boundary, moved moves) {
	changes := r.takeChanges(b.Segment)
	if r.last == nil {
		r.last = &event.Boundary{}
		carry(r.last, b)
	} else if b.Segment >= r.ended {
		carry(r.last, b)
	}
	r.sides.note(b.Segment, moved, t.gpus.meters)
	r.ended = max(r.ended, b.Segment) // two CPUs' boundaries may pass each other
	t.session.cut++
	t.learn(r, b.Segment)
	t.askedIn(r, b.Segment)
	t.doubtSegment(r, &b.Doubts)
	latest := r.latest()
	for kind, bytes := range b.Unsure {
		r.unsure[kind].push(t.session.cut, bytes)
	}
	r.frees(&b.Frees)
	r.past.see(t.session.cut, latest, &b.Tree, &b.TreeHigh, t.gpus.meters)
	r.past.certain(t.session.cut, &b.Tree, &b.TreeHigh, &r.freed)
	r.past.thin(r)
	for pid, m := range moved {
		p := t.processes.process(pid, b.Root)
		if p == nil {
			continue
		}
		if b.Kind == event.ProcessExec && pid == b.PID && p.isForked {
			p.replaced = t.session.cut
		}
		if p.ended && !p.alive && pid != b.PID {
			p.reached(m.high, t.gpus.meters)
			continue
		}
		t.processes.enter(p, b.Root)
		p.past.see(t.session.cut, latest, m.value, m.high, t.gpus.meters)
		p.past.certain(t.session.cut, m.value, m.high, &r.freed)
		p.past.reach(t.session.cut, m.looked)
		p.past.thin(r)
		if p.adopted && p.life == nil {
			p.life = startFigures(m.value, t.gpus.meters)
		}
		p.life.see(m.value, m.high, t.gpus.meters)
		r.moved(p, t.session.cut)
	}
	for pid, highs := range changes {
		if p := t.processes.byPID[pid]; p != nil {
			for _, l := range highs {
				p.past.need(l.meter).seen.push(t.session.cut, l.bytes)
			}
		}
	}
	r.stream.made = max(r.stream.made, b.Stream)
}

// reached takes in what a process that has ended had at its highest before that, where its end has come first.
func (p *process) reached(high *event.Readings, meters []event.Meter) {
	for _, m := range meters {
		if high[m] == 0 {
			continue
		}
		p.past.need(m).high.push(p.left, high[m])
		f := p.life.need(m)
		f.peak = max(f.peak, high[m])
	}
}

// enter puts a process into another tree: its pid was used there before. What the windows of the other tree know of it
// goes.
func (ps *processes) enter(p *process, root uint32) {
	if p.root == root {
		return
	}
	was := ps.root(p.root)
	if p.moved > 0 && len(was.open) > 0 {
		ps.limits.Children++
	}
	was.lives(p, ps.session.cut, false)
	was.leave(p)
	p.root, p.past, p.lives, p.copied, p.isForked = root, past{}, nil, nil, false
}

// takeChanges are the highs of a segment that ends. Those of segments whose end has not come for long are forgotten.
func (r *root) takeChanges(segment uint64) map[int32]levels {
	of := r.changes[segment]
	delete(r.changes, segment)
	r.ahead -= len(of)
	if r.ended < r.purged+2*maxCuts {
		return of
	}
	r.purged = r.ended
	for s, highs := range r.changes {
		if s+maxCuts < r.ended {
			r.ahead -= len(highs)
			delete(r.changes, s)
		}
	}
	return of
}

func highest(a event.Readings, b *event.Readings) *event.Readings {
	for m := range a {
		a[m] = max(a[m], b[m])
	}
	return &a
}
