package attribution

import "ipytracer/tracer/event"

// spare is memory that was in use and is not any more: of what each statement needs for a short while.
type spare struct {
	own     []doneTally // for one window at a time
	lists   [][]doneTally
	changes [][]event.Change
}

const (
	maxSpare     = lingering + horizon // lists: so many windows have one at the same time
	maxSpareList = maxKeptOfCell       // tallies of one
	maxSpareWait = few                 // changes of one
)

// list is an empty list with room for so many tallies.
func (s *spare) list(n int) []doneTally {
	if last := len(s.lists) - 1; last >= 0 && cap(s.lists[last]) >= n {
		one := s.lists[last]
		s.lists = s.lists[:last]
		return one
	}
	return make([]doneTally, 0, n)
}

// from takes the lists of a window that has been turned into bytes.
func (s *spare) from(d *detail) {
	for _, all := range d.tallies {
		if n := cap(all.done.tallies); n > 0 && n <= maxSpareList && len(s.lists) < maxSpare {
			s.lists = append(s.lists, all.done.tallies[:0])
		}
	}
	d.tallies = nil
}

// waiting is an empty list of changes.
func (s *spare) waiting() []event.Change {
	last := len(s.changes) - 1
	if last < 0 {
		return nil
	}
	one := s.changes[last]
	s.changes = s.changes[:last]
	return one
}

// waited takes a list of changes that have been taken in.
func (s *spare) waited(all []event.Change) {
	if cap(all) <= maxSpareWait && len(s.changes) < maxSpare {
		s.changes = append(s.changes, all[:0])
	}
}
