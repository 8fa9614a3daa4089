package stacks

// spareLists has memory for tallies that is free to be used again: each statement needs lists for a short while.
type spareLists struct {
	own   []Sum      // used while one window is settled
	lists [2][][]Sum // lists of at most MaxKeptOfStatement tallies, and larger ones
	// maps are empty, for the tallies of a window; tallies are for their items.
	maps    []map[uint64]*Tally
	tallies []*Tally
}

const (
	maxSpare     = 144           // number of spare lists: as many windows have one at the same time
	maxSpareList = MaxKeptOfCell // number of tallies of the largest spare list
)

// fewTallies is the number of tallies of the largest map that is spare.
const fewTallies = 8

// byStack returns an empty map of tallies.
func (s *spareLists) byStack() map[uint64]*Tally {
	last := len(s.maps) - 1
	if last < 0 {
		return map[uint64]*Tally{}
	}
	spare := s.maps[last]
	s.maps = s.maps[:last]
	return spare
}

// tally returns memory for a tally.
func (s *spareLists) tally() *Tally {
	last := len(s.tallies) - 1
	if last < 0 {
		return new(Tally)
	}
	spare := s.tallies[last]
	s.tallies = s.tallies[:last]
	return spare
}

// takeTallies takes back the tallies of a window that is settled.
func (s *spareLists) takeTallies(byStack map[uint64]*Tally) {
	if byStack == nil || len(byStack) > fewTallies || len(s.maps) == maxSpare {
		return
	}
	if len(s.tallies) < maxSpare {
		for _, y := range byStack {
			s.tallies = append(s.tallies, y)
		}
	}
	clear(byStack)
	s.maps = append(s.maps, byStack)
}

// list returns an empty list with room for n tallies.
func (s *spareLists) list(n int) []Sum {
	lists := &s.lists[sizeOf(n)]
	if last := len(*lists) - 1; last >= 0 {
		list := (*lists)[last]
		if *lists = (*lists)[:last]; cap(list) >= n {
			return list
		}
	}
	return make([]Sum, 0, n)
}

// sizeOf returns the index in spareLists.lists for a list of n tallies.
func sizeOf(n int) int {
	if n <= MaxKeptOfStatement {
		return 0
	}
	return 1
}

// takeBack takes back the list of an archived window.
func (s *spareLists) takeBack(list []Sum) {
	n := cap(list)
	if lists := &s.lists[sizeOf(n)]; n > 0 && n <= maxSpareList && len(*lists) < maxSpare {
		*lists = append(*lists, list[:0])
	}
}
