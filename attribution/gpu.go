package attribution

import (
	"slices"

	"ipytracer/report"
	"ipytracer/tracer/event"
)

// gpus is what is known of the GPUs' meters, and of page-locked memory: they are in the report once they were used.
type gpus struct {
	used [event.MeterCount]bool
}

// alwaysThere are the meters that every report has.
func alwaysThere(m event.Meter) bool { return m < event.Pinned }

// note marks the meters that have ever been other than 0.
func (g *gpus) note(all ...*event.Readings) {
	for _, r := range all {
		for m := event.Pinned; m < event.MeterCount; m++ {
			if r[m] != 0 {
				g.mark(m)
			}
		}
	}
}

// mark says that a meter is in use. A GPU's driver meter stands beside the others of the same GPU.
func (g *gpus) mark(m event.Meter) {
	g.used[m] = true
	if n, _, ok := m.Device(); ok {
		g.used[event.OfDevice(n, event.Driver)] = true
	}
}

// shows says whether a meter belongs into the figures of a window, nil for a whole process or tree. numpy: the process is a Python with
// probes of its own, so that its arrays and tensors are seen.
func (t *Tracker) shows(m event.Meter, w *window, numpy bool) bool {
	switch {
	case isNumPy(m):
		return numpy
	case isTorch(m) && !numpy:
		return false
	case alwaysThere(m):
		return true
	}
	return t.gpus.used[m] && (w == nil || !w.unknown[m])
}

// learned corrects the windows that began before a meter was known: PyTorch's totals after a late attach. Nothing has
// changed them since, so the windows that are open began with that value; those that are over cannot tell theirs.
func (t *Tracker) learned(c *event.Change) {
	if c.Value == 0 {
		return
	}
	p := t.process(c.PID, c.Root)
	before := p.value[c.Meter]
	if before == 0 {
		p.value[c.Meter] = c.Value
		raise(&p.life, c.Meter, c.Value)
	}
	for _, w := range t.windows {
		if w.root != c.Root || before != 0 {
			continue
		}
		own := w.process == p
		if !w.isOpen {
			if own {
				w.unknown[c.Meter] = true
			}
			continue
		}
		raise(&w.tree, c.Meter, c.Value)
		if own {
			raise(&w.own, c.Meter, c.Value)
			w.recomputed[c.Meter] = max(w.recomputed[c.Meter], c.Value)
		} else if f := w.children[c.PID]; f != nil {
			raise(f, c.Meter, c.Value)
		}
	}
}

// othersMemory is what a window opened and closed of other processes' memory, nil for nothing.
func (w *window) othersMemory() *report.Foreign {
	if w.foreign == (report.Foreign{}) {
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

// raise adds to all figures of a meter what had been missing.
func raise(f *figures, m event.Meter, by event.Bytes) {
	f.start[m] += by
	f.peak[m] += by
	f.end[m] += by
}

// asked files a request that moved no meter under its segment, as changes are: one that was refused, or that opened or
// closed memory of another process.
func (t *Tracker) asked(e event.Event) {
	at := placeOf(e)
	r := t.root(at.root)
	r.stream.received(at.stream)
	t.inOrder(r, at.stream, nil)
	t.gpus.mark(at.meter)
	if at.segment > r.ended {
		if len(r.asked) < maxAsked {
			r.asked = append(r.asked, e)
		}
		return
	}
	for _, w := range t.windows {
		if w.holds(at.root, at.segment) {
			w.add(e)
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
		for _, w := range r.open {
			w.add(e)
		}
	}
	r.asked = waiting
}

// add counts a request in a window, whichever process of the tree made it.
func (w *window) add(e event.Event) {
	switch e := e.(type) {
	case *event.Refusal:
		w.refuse(e)
	case *event.Foreign:
		if e.Closed {
			w.foreign.Closed++
		} else {
			w.foreign.Opened++
		}
		w.foreign.Open = int(e.Open)
	}
}

func (w *window) refuse(e *event.Refusal) {
	id := e.Meter.String()
	for i := range w.refused {
		if r := &w.refused[i]; r.Meter == id {
			r.Count++
			if int64(e.Asked) > r.Asked {
				r.Asked, r.Held, r.Caller = int64(e.Asked), int64(e.Held), e.Caller.String()
				w.refusedBy[i] = e.Stack
			}
			return
		}
	}
	w.refused = append(w.refused, report.Refusal{Meter: id, Asked: int64(e.Asked), Held: int64(e.Held), Count: 1, Caller: e.Caller.String()})
	w.refusedBy = append(w.refusedBy, e.Stack)
}

// refusals are a window's, each with who asked for the most.
func (t *Tracker) refusals(w *window) []report.Refusal {
	out := slices.Clone(w.refused)
	for i := range out {
		if s := t.allocations.stacks.of(w.refusedBy[i]); s != nil {
			out[i].Stack = t.frames(w, s)
		}
	}
	return out
}

// totals are the meters that PyTorch's totals serve.
func totals() (meters []event.Meter) {
	for n := range event.MaxDevices {
		meters = append(meters, event.OfDevice(n, event.Active), event.OfDevice(n, event.Reserved))
	}
	return meters
}

// template is the meter that stands for the same meter of every GPU where sources are told.
func template(m event.Meter) event.Meter {
	if _, kind, ok := m.Device(); ok {
		return event.OfDevice(0, kind)
	}
	return m
}
