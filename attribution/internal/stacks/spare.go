package stacks

// spareLists is memory for tallies that is free to be used again: each statement needs lists for a short while.
type spareLists struct {
	own   []Sum      // for one window at a time
	lists [2][][]Sum // of statements, and of windows that keep more
}

const (
	maxSpare     = 144           // lists: the number of windows that have one at the same time
	maxSpareList = MaxKeptOfCell // tallies of one
)

// list returns an empty list with room for n tallies.
func (s *spareLists) list(n int) []Sum {
	all := &s.lists[sizeOf(n)]
	if last := len(*all) - 1; last >= 0 {
		one := (*all)[last]
		if *all = (*all)[:last]; cap(one) >= n {
			return one
		}
	}
	return make([]Sum, 0, n)
}

// sizeOf returns the index in lists of the lists with room for n tallies.
func sizeOf(n int) int {
	if n <= MaxKeptOfStatement {
		return 0
	}
	return 1
}

// from takes back the list of a window that has been turned into bytes.
func (s *spareLists) from(list []Sum) {
	n := cap(list)
	if lists := &s.lists[sizeOf(n)]; n > 0 && n <= maxSpareList && len(*lists) < maxSpare {
		*lists = append(*lists, list[:0])
	}
}
