package course

import (
	"testing"

	"ipytracer/event"
)

// TestSummitsAreReplacedByHigherOnes checks that a summit is replaced only by a higher one.
func TestSummitsAreReplacedByHigherOnes(t *testing.T) {
	var tree Tree
	level := func(bytes event.Bytes) func([]Share) []Share {
		return func(all []Share) []Share { return append(all, Share{7, bytes}) }
	}
	for _, one := range []struct {
		high event.Bytes
		want bool
	}{{0, false}, {10, true}, {10, false}, {9, false}, {11, true}} {
		if got := tree.Rises(event.Resident, one.high, level(one.high)); got != one.want {
			t.Errorf("%d: %v", one.high, got)
		}
	}
	tree.Rises(event.Mapped, 5, level(5))
	if all := tree.All(); len(all) != 2 || all[0].Meter > all[1].Meter {
		t.Errorf("%+v", all)
	}
	for _, s := range tree.All() {
		if len(s.Shares) != 1 || s.Shares[0].Bytes != s.Peak {
			t.Errorf("%+v", s)
		}
	}
}
