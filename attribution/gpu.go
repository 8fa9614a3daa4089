package attribution

import (
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// gpus is what is known of the GPUs' meters, and of page-locked memory: they are in the report once they were used.
type gpus struct {
	used   [event.MeterCount]bool
	meters []event.Meter // that the report has, ascending
	others []event.Meter // that a report has only if they are used
	notes  gpuNotes
}

func newGPUs() *gpus {
	g := &gpus{}
	g.meters = event.MetersOf(func(f *event.Facts) bool { return f.Always })
	slices.Sort(g.meters)
	for m := range event.Meter(event.MeterCount) {
		if !m.Facts().Always {
			g.others = append(g.others, m)
		}
	}
	return g
}

// note marks the meters that have ever been other than 0.
func (g *gpus) note(all ...*event.Readings) {
	for _, r := range all {
		for _, m := range g.others {
			if r[m] != 0 {
				g.mark(m)
			}
		}
	}
}

// mark says that a meter is in use. A GPU's driver meter stands beside the others of the same GPU.
func (g *gpus) mark(m event.Meter) {
	g.use(m)
	if n, _, ok := m.Device(); ok {
		g.use(event.OfDevice(n, event.Driver))
	}
}

func (g *gpus) use(m event.Meter) {
	g.used[m] = true
	if i, found := slices.BinarySearch(g.meters, m); !found {
		g.meters = slices.Insert(g.meters, i, m)
	}
}

// shows says whether a meter belongs into the figures of a window, nil for a whole process or tree. numpy: the process
// is a Python with probes of its own, so that its arrays and tensors are seen.
func (g *gpus) shows(m event.Meter, w *window, numpy bool) bool {
	switch facts := m.Facts(); {
	case facts.OfPythons && !numpy:
		return false
	case facts.Always:
		return true
	}
	return g.used[m] && (w == nil || !w.unknown(m))
}

// learned corrects the windows that began before a meter was known: PyTorch's totals after a late attach. Nothing has
// changed them since, so the windows that are open began with that value; those that are over cannot tell theirs.
func (t *Tracker) learned(c *event.Change) {
	if c.Value == 0 {
		return
	}
	p := t.processes.process(c.PID, c.Root)
	if p == nil || p.past.value(c.Meter) != 0 {
		return
	}
	t.processes.enter(p, c.Root)
	p.past.raise(t.session.cut, c.Meter, c.Value)
	p.past.need(c.Meter).seen.push(t.session.cut, c.Value)
	p.life.raise(c.Meter, c.Value)
	t.processes.root(c.Root).past.raise(t.session.cut, c.Meter, c.Value)
	p.learn(c.Meter, t.table.closings)
	t.drawLearned(&p.line, c.Meter, c.Value)
	if r := t.processes.root(c.Root); r.line.isOn {
		t.drawLearned(&r.line, c.Meter, c.Value)
	}
}

// learn notes that a meter became known when so many windows had closed.
func (p *process) learn(m event.Meter, closed uint64) {
	for i := range p.learnedAt {
		if p.learnedAt[i].meter == m {
			p.learnedAt[i].closed = closed
			return
		}
	}
	p.learnedAt = append(p.learnedAt, learning{m, closed})
}

// unknown says whether a meter became known only after a window.
func (w *window) unknown(m event.Meter) bool {
	return !w.isOpen && slices.ContainsFunc(w.process.learnedAt, func(l learning) bool {
		return l.meter == m && w.closing <= l.closed
	})
}

// othersMemory is what a window opened and closed of other processes' memory, nil for nothing.
func (w *window) othersMemory() *model.Foreign {
	if w.foreign == (model.Foreign{}) {
		return nil
	}
	f := w.foreign
	return &f
}

// learn does so for all values of a segment that ends, while its windows are the ones that are open.
func (t *Tracker) learn(r *root, segment uint64) {
	waiting := r.learned[:0]
	for _, c := range r.learned {
		if c.Segment > segment {
			waiting = append(waiting, c)
		} else {
			t.learned(c)
		}
	}
	r.learned = waiting
}

// asked files a request that moved no meter under its segment, as changes are: one that was refused, or that opened or
// closed memory of another process.
func (t *Tracker) asked(e event.Event) {
	at := placeOf(e)
	r := t.processes.root(at.root)
	if at.segment <= r.archived && r.archived > 0 {
		t.limits.Late++
		return
	}
	r.stream.received(at.stream)
	t.inOrder(r, at.stream, nil)
	t.gpus.mark(at.meter)
	t.request(r, e)
}

// request keeps it until the windows of its segment are open, or gives it to those that hold the segment.
func (t *Tracker) request(r *root, e event.Event) {
	at := placeOf(e)
	if at.segment > r.ended {
		if len(r.asked) < maxAsked {
			r.asked = append(r.asked, e)
		} else {
			t.askedDropped++
		}
		return
	}
	r.movedOut(e)
	for _, w := range r.counted {
		if w.firstSegment <= at.segment {
			w.add(e, t.processes.limitOn(e))
		} else if c, ok := e.(*event.Change); ok { // it came late
			w.suspended.Away = c.Caller == event.MovedOut
		}
	}
	for _, w := range slices.Concat(t.closing, t.settled, t.over) {
		if w.holds(at.root, at.segment) {
			w.add(e, t.processes.limitOn(e))
		}
	}
}

type requestPlace struct {
	root            uint32
	stream, segment uint64
	meter           event.Meter
}

func placeOf(e event.Event) requestPlace {
	switch e := e.(type) {
	case *event.Refusal:
		return requestPlace{e.Root, e.Stream, e.Segment, e.Meter}
	case *event.Foreign:
		return requestPlace{e.Root, e.Stream, e.Segment, e.Meter}
	case *event.Change:
		return requestPlace{e.Root, e.Stream, e.Segment, e.Meter}
	}
	return requestPlace{}
}

// maxAsked bounds what waits for its segment to end: a target may ask in vain as often as it likes.
const maxAsked = 1 << 16

// askedIn gives the requests of a segment that ends to the windows that are open.
func (t *Tracker) askedIn(r *root, segment uint64) {
	waiting := r.asked[:0]
	for _, e := range r.asked {
		if placeOf(e).segment > segment {
			waiting = append(waiting, e)
			continue
		}
		r.movedOut(e)
		for _, w := range r.counted {
			w.add(e, t.processes.limitOn(e))
		}
	}
	r.asked = waiting
}

// movedOut notes whose device memory is on the host.
func (r *root) movedOut(e event.Event) {
	c, ok := e.(*event.Change)
	switch {
	case !ok:
	case c.Caller == event.MovedBack:
		delete(r.away, c.PID)
	case r.away == nil:
		r.away = map[int32]bool{c.PID: true}
	default:
		r.away[c.PID] = true
	}
}

// limitOn is the soft limit on what the process that was refused memory may map: what it was introduced with, or has
// from its root.
func (ps *processes) limitOn(e event.Event) event.Bytes {
	refusal, ok := e.(*event.Refusal)
	if !ok || refusal.Meter != event.Mapped {
		return 0
	}
	p := ps.byPID[refusal.PID]
	for range deepestChild {
		if p == nil || p.info.Limit > 0 {
			break
		}
		p = ps.byPID[p.parent]
	}
	if p == nil {
		return 0
	}
	return p.info.Limit
}

// deepestChild bounds the way from a process to its root; a recording may say that two are each other's parent.
const deepestChild = 32

// add counts a request in a window, whichever process of the tree made it.
func (w *window) add(e event.Event, limit event.Bytes) {
	switch e := e.(type) {
	case *event.Refusal:
		w.refuse(e, limit)
	case *event.Foreign:
		if e.Closed {
			w.foreign.Closed++
		} else {
			w.foreign.Opened++
		}
		w.foreign.Open = int(e.Open)
	case *event.Change:
		w.moves(e)
	}
}

func (w *window) refuse(e *event.Refusal, limit event.Bytes) {
	id := e.Meter.String()
	for i := range w.refused {
		if r := &w.refused[i]; r.Meter == id {
			r.Count++
			if int64(e.Asked) > r.Asked {
				r.Asked, r.Held, r.Limit, r.Caller = int64(e.Asked), int64(e.Held), int64(limit), e.Caller.String()
				w.refusedBy[i] = e.Stack
			}
			return
		}
	}
	w.refused = append(w.refused, model.Refusal{Meter: id, Asked: int64(e.Asked), Held: int64(e.Held),
		Limit: int64(limit), Count: 1, Caller: e.Caller.String()})
	w.refusedBy = append(w.refusedBy, e.Stack)
}

// refusals are a window's, each with who asked for the most.
func (li *lister) refusals(w *window) []model.Refusal {
	out := slices.Clone(w.refused)
	for i := range out {
		if s := li.stacks.of(w.refusedBy[i]); s != nil {
			out[i].Stack = li.symbolizer.frames(w, s)
		}
	}
	return out
}

// moves counts that all of a process's memory on a device was moved.
func (w *window) moves(c *event.Change) {
	s := &w.suspended
	if c.Caller == event.MovedOut {
		s.Out++
		s.Bytes = max(s.Bytes, int64(-c.Size))
	} else {
		s.Back++
		s.Bytes = max(s.Bytes, int64(c.Size))
	}
}

// wasAway says whether memory of a meter was on the host: the blocks that were there are in its lines, and not in its
// figures.
func (w *window) wasAway(m event.Meter) bool {
	_, of, ok := m.Device()
	return ok && of == event.Driver && w.suspended != (model.Suspended{})
}

// suspension is whether, and how often, device memory of a window's tree was moved to the host; nil for never.
func (w *window) suspension() *model.Suspended {
	if w.suspended == (model.Suspended{}) {
		return nil
	}
	s := w.suspended
	return &s
}
