package attribution

import "ipytracer/event"

// moves is what one segment did to the processes of a tree.
type moves map[int32]movement

type movement struct{ value, high *event.Readings }

func (t *Tracker) settle(b *event.Boundary, readings []*event.Reading) {
	t.boundaries++
	t.numbered = max(t.numbered, b.Number)
	if t.began == 0 {
		t.began = b.Time
	}
	t.last = max(t.last, b.Time)
	if p := t.processes[b.PID]; b.Kind == event.ProcessStart && p != nil && p.ended {
		delete(t.processes, b.PID) // its pid has been handed on: that is another one
	}
	t.gpus.note(&b.Value, &b.High, &b.Tree, &b.TreeHigh)
	moved := moves{}
	for _, r := range readings {
		t.gpus.note(&r.Value, &r.High)
		high := &r.High
		if before, again := moved[r.PID]; again {
			high = highest(*high, before.high)
		}
		moved[r.PID] = movement{&r.Value, high}
	}
	own := movement{&b.Value, &b.High}
	if before, again := moved[b.PID]; again && !t.isForked(b.PID) { // an exec: the same pid with its old memory
		own.high = highest(*own.high, before.high)
	}
	moved[b.PID] = own
	r := t.root(b.Root)
	t.endSegment(r, b, moved)
	t.apply(r, b)
	t.allocateIn(b.Root, r, r.ended+1)
}

func (t *Tracker) isForked(pid int32) bool {
	p := t.processes[pid]
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
	t.cut++
	t.learn(r, b.Segment)
	t.askedIn(r, b.Segment)
	t.doubtSegment(r, &b.Doubts)
	latest := r.latest()
	r.unsure.push(t.cut, b.Unsure)
	r.unsureTorch.push(t.cut, b.UnsureTorch)
	r.past.see(t.cut, latest, &b.Tree, &b.TreeHigh, t.gpus.meters)
	r.past.thin(r)
	for pid, m := range moved {
		p := t.process(pid, b.Root)
		if p == nil {
			continue
		}
		if b.Kind == event.ProcessExec && pid == b.PID && p.isForked {
			p.replaced = t.cut
		}
		t.enter(p, b.Root)
		p.past.see(t.cut, latest, m.value, m.high, t.gpus.meters)
		p.past.reach(t.cut, m.value)
		p.past.thin(r)
		if p.adopted && p.life == nil {
			p.life = startFigures(m.value, t.gpus.meters)
		}
		p.life.see(m.value, m.high, t.gpus.meters)
		r.moved(p, t.cut)
	}
	for pid, highs := range changes {
		if p := t.processes[pid]; p != nil {
			for _, l := range highs {
				p.past.need(l.meter).seen.push(t.cut, l.bytes)
			}
		}
	}
	r.stream.made = max(r.stream.made, b.Stream)
}

// enter puts a process into another tree: its pid was used there before. What the windows of the other tree know of it goes.
func (t *Tracker) enter(p *process, root uint32) {
	if p.root == root {
		return
	}
	was := t.root(p.root)
	if p.moved > 0 && len(was.open) > 0 {
		t.limits.Children++
	}
	was.lives(p, t.cut, false)
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
