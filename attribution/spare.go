package attribution

import "ipytracer/event"

// spareLists is memory for tallies that was in use and is not any more: of what each statement needs for a short while.
type spareLists struct {
	own   []doneTally      // for one window at a time
	lists [2][][]doneTally // of statements, and of what keeps more
}

// spareChanges is the same for changes that wait.
type spareChanges struct{ changes [][]event.Change }

const (
	maxSpare     = lingering + horizon // lists: so many windows have one at the same time
	maxSpareList = maxKeptOfCell       // tallies of one
	maxSpareWait = few                 // changes of one
)

// list is an empty list with room for so many tallies.
func (s *spareLists) list(n int) []doneTally {
	all := &s.lists[sizeOf(n)]
	if last := len(*all) - 1; last >= 0 {
		one := (*all)[last]
		if *all = (*all)[:last]; cap(one) >= n {
			return one
		}
	}
	return make([]doneTally, 0, n)
}

// sizeOf is where in lists one with room for so many is.
func sizeOf(n int) int {
	if n <= maxKeptOfStatement {
		return 0
	}
	return 1
}

// from takes a list of a window that has been turned into bytes.
func (s *spareLists) from(list []doneTally) {
	n := cap(list)
	if lists := &s.lists[sizeOf(n)]; n > 0 && n <= maxSpareList && len(*lists) < maxSpare {
		*lists = append(*lists, list[:0])
	}
}

// waiting is an empty list of changes.
func (s *spareChanges) waiting() []event.Change {
	last := len(s.changes) - 1
	if last < 0 {
		return nil
	}
	one := s.changes[last]
	s.changes = s.changes[:last]
	return one
}

// waited takes a list of changes that have been taken in.
func (s *spareChanges) waited(all []event.Change) {
	if cap(all) <= maxSpareWait && len(s.changes) < maxSpare {
		s.changes = append(s.changes, all[:0])
	}
}
