package attribution

import "ipytracer/tracer/event"

// moves is what one segment did to the processes of a tree.
type moves map[int32]struct{ value, high event.Readings }

func (t *Tracker) settle(b *event.Boundary, readings []*event.Reading) {
	t.boundaries++
	t.numbered = max(t.numbered, b.Number)
	if t.began == 0 {
		t.began = b.Time
	}
	t.last = max(t.last, b.Time)
	t.gpus.note(&b.Value, &b.High, &b.Tree, &b.TreeHigh)
	moved := moves{}
	for _, r := range readings {
		t.gpus.note(&r.Value, &r.High)
		high := r.High
		if before, again := moved[r.PID]; again {
			high = maxReadings(high, before.high)
		}
		moved[r.PID] = struct{ value, high event.Readings }{r.Value, high}
	}
	own := struct{ value, high event.Readings }{b.Value, b.High}
	if before, again := moved[b.PID]; again && !t.isForked(b.PID) { // an exec: the same pid with its old memory
		own.high = maxReadings(own.high, before.high)
	}
	moved[b.PID] = own
	r := t.root(b.Root)
	t.endSegment(r, b, moved)
	t.apply(r, b)
	t.allocateIn(b.Root, r, r.ended+1)
}

// endSegment lets every open window of the tree see the segment that ends.
func (t *Tracker) endSegment(r *root, b *event.Boundary, moved moves) {
	changes := r.changes[b.Segment]
	delete(r.changes, b.Segment)
	if r.last == nil || b.Segment >= r.ended {
		r.last = b
	}
	r.sides.note(b.Segment, moved)
	r.ended = max(r.ended, b.Segment) // two CPUs' boundaries may pass each other
	t.learn(r, b.Segment)
	t.askedIn(r, b.Segment)
	for _, w := range r.open {
		w.unsure, w.unsureTorch = max(w.unsure, b.Unsure), max(w.unsureTorch, b.UnsureTorch)
		w.see(b, moved, changes, t.forked)
	}
	for pid, m := range moved {
		p := t.process(pid, b.Root)
		p.life.see(m.value, m.high)
		p.value = m.value
	}
	r.tree = b.Tree
	r.stream.made = max(r.stream.made, b.Stream)
}
