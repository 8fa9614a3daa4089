package attribution

import (
	"slices"

	"ipytracer/event"
)

// learn does so for all values of a segment that ends, while its windows are the ones that are open.
func (in *intake) learn(r *root, segment uint64) {
	waiting := r.learned[:0]
	for _, c := range r.learned {
		if c.Segment > segment {
			waiting = append(waiting, c)
		} else {
			in.learned(c)
		}
	}
	r.learned = waiting
}

// learned corrects the windows that began before a meter was known: PyTorch's totals after a late attach. Nothing has
// changed them since, so the windows that are open began with that value; those that are over cannot tell theirs.
func (in *intake) learned(c *event.Change) {
	if c.Value == 0 {
		return
	}
	p := in.processes.process(c.PID, c.Root)
	if p == nil || p.past.value(c.Meter) != 0 {
		return
	}
	in.processes.enter(p, c.Root)
	p.past.raise(in.session.cut, c.Meter, c.Value)
	p.past.need(c.Meter).seen.push(in.session.cut, c.Value)
	p.life.raise(c.Meter, c.Value)
	in.processes.root(c.Root).past.raise(in.session.cut, c.Meter, c.Value)
	p.learn(c.Meter, in.table.closings)
	in.chart.drawLearned(&p.line, c.Meter, c.Value)
	if r := in.processes.root(c.Root); r.line.isOn {
		in.chart.drawLearned(&r.line, c.Meter, c.Value)
	}
}

// unknown says whether a meter became known only after a window.
func (w *window) unknown(m event.Meter) bool {
	return !w.isOpen && slices.ContainsFunc(w.process.learnedAt, func(l learning) bool {
		return l.meter == m && w.closing <= l.closed
	})
}
