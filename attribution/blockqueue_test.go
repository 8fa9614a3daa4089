package attribution

import (
	"testing"

	"ipytracer/event"
)

// TestSpareListsOfChanges checks that lists of changes are used again, and that few of them, none of them large, wait.
func TestSpareListsOfChanges(t *testing.T) {
	var of spareChanges
	for range 2 * maxSpareWaits {
		of.takeBack(make([]event.Change, 2, usualChanges))
		of.takeBack(make([]event.Change, 2, usualChanges+1))
	}
	for n := range 2 * maxSpareWaits {
		if one := of.list(); len(one) != 0 || cap(one) > usualChanges || n >= maxSpareWaits && one != nil {
			t.Fatalf("the %d. list of changes is %d of %d", n, len(one), cap(one))
		}
	}
}
