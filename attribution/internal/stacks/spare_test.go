package stacks

import (
	"testing"
)

// TestSpareLists checks that a list in use is not shared, that it has the requested room, and that the number of spare
// lists is bounded.
func TestSpareLists(t *testing.T) {
	var s spareLists
	back := func(lists ...[]Sum) {
		for _, one := range lists {
			s.takeBack(one)
		}
	}
	small, large := s.list(3), s.list(MaxKeptOfStatement+1)
	back(append(small, Sum{Stack: 1}), large)
	again, other, larger := s.list(2), s.list(3), s.list(MaxKeptOfStatement+2)
	if cap(again) != 3 || len(again) != 0 || cap(larger) < MaxKeptOfStatement+2 {
		t.Errorf("lists of %d of %d and of %d", len(again), cap(again), cap(larger))
	}
	again, other = append(again, Sum{Stack: 2}), append(other, Sum{Stack: 3})
	if again[0].Stack != 2 || other[0].Stack != 3 {
		t.Error("two have the same list")
	}
	for range 3 * maxSpare {
		back(make([]Sum, 0, 4), make([]Sum, 0, maxSpareList), make([]Sum, 0, maxSpareList+1))
	}
	for _, lists := range s.lists {
		if len(lists) != maxSpare {
			t.Errorf("%d lists wait, want %d", len(lists), maxSpare)
		}
		for _, one := range lists {
			if cap(one) > maxSpareList {
				t.Errorf("a list of %d waits", cap(one))
			}
		}
	}
}
