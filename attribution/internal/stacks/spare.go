package stacks

// spareLists has memory for tallies that is free to be used again: each statement needs lists for a short while.
type spareLists struct {
	own   []Sum      // used while one window is settled
	lists [2][][]Sum // lists of at most MaxKeptOfStatement tallies, and larger ones
}

const (
	maxSpare     = 144           // number of spare lists: as many windows have one at the same time
	maxSpareList = MaxKeptOfCell // number of tallies of the largest spare list
)

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
