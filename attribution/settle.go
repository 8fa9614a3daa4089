package attribution

import (
	"cmp"
	"slices"

	"ipytracer/tracer/event"
)

// A window that is open knows of every stack what it did; one that is over needs what a report can show of it. So a session's
// memory goes by what is open, not by how many windows there were.

// settled is what is left of a window's tallies of one meter once nothing can change them any more.
type settled struct {
	tallies []doneTally // the most at the peak first
	// rest is what is not in tallies: how many stacks, and what they add up to.
	rest     doneTally
	stacks   int
	known    event.Bytes // at the peak, of all stacks
	net      event.Bytes // of all stacks
	heaviest event.Bytes // at the peak or allocated, of one stack
}

// doneTally is a tally without what counting needs.
type doneTally struct {
	stack            uint64
	allocated, freed event.Bytes
	count            int64
	atPeak           event.Bytes
}

// How many stacks a window keeps of each meter, the most at the peak first.
const (
	maxKept            = 1000
	maxKeptOfCell      = 300
	maxKeptOfStatement = 50
)

// lingering is how many windows stay open to late changes after they closed: another CPU's may come behind the boundary.
const lingering = 16

// settle sums up tallies, and keeps the heaviest.
func (all *tallies) settle(limit int) *settled {
	if all.done != nil {
		return all.done
	}
	s := &settled{tallies: make([]doneTally, 0, len(all.byStack))}
	for _, y := range all.byStack {
		s.known += y.atPeak
		s.net += y.allocated - y.freed
		s.heaviest = max(s.heaviest, y.atPeak, y.allocated)
		s.tallies = append(s.tallies, doneTally{y.stack, y.allocated, y.freed, y.count, y.atPeak})
	}
	slices.SortFunc(s.tallies, heavier)
	for _, y := range s.tallies[min(len(s.tallies), limit):] {
		s.stacks++
		s.rest.allocated += y.allocated
		s.rest.freed += y.freed
		s.rest.count += y.count
		s.rest.atPeak += y.atPeak
	}
	s.tallies = slices.Clone(s.tallies[:min(len(s.tallies), limit)])
	return s
}

func heavier(x, y doneTally) int {
	return cmp.Or(cmp.Compare(y.atPeak, x.atPeak), cmp.Compare(y.allocated, x.allocated), cmp.Compare(x.stack, y.stack))
}

// keeps is how many stacks of each meter a window keeps.
func (w *window) keeps() int {
	switch w.kind {
	case kindStatement:
		return maxKeptOfStatement
	case kindCell:
		return maxKeptOfCell
	}
	return maxKept
}

// settleClosed settles the windows that closed long enough ago. It is called where the same events have been taken in whether
// they came live or from a recording: before a boundary.
func (t *Tracker) settleClosed() {
	n := 0
	for _, w := range t.closing[:max(0, len(t.closing)-lingering)] {
		if r := t.root(w.root); r.ordered.next <= w.closeStream && len(r.ordered.waiting) > 0 {
			break
		}
		n++
		w.isSettled = true
		for _, all := range w.tallies {
			t.allocations.entries -= len(all.byStack)
			all.done = all.settle(w.keeps())
			all.byStack, all.moved = nil, nil
		}
	}
	t.closing = slices.Delete(t.closing, 0, n)
}
