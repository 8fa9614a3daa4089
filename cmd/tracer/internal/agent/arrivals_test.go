package agent

import (
	"slices"
	"testing"

	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/host/process"
)

// TestArrivalsJoinInTurnsOfUsers checks that of a user with many kernels one is asked to join at a time, so that
// another user's is the next. One that cannot join is no arrival any more.
func TestArrivalsJoinInTurnsOfUsers(t *testing.T) {
	all := newArrivals()
	var asked []int
	full := false
	join := func(id process.Identity) bool {
		if !full {
			asked = append(asked, id.PID)
		}
		return !full
	}
	add := func(uid uint32, pid int) {
		p := arrival{Python: inventory.Python{PID: pid, UID: uid, Identity: process.Identity{PID: pid}}}
		p.facts.account = account{user: uid}
		all.addArrival(p)
		if refused := all.admit(join); len(refused) > 0 {
			t.Errorf("refused %v", refused)
		}
	}
	for pid := 10; pid < 26; pid++ {
		add(1, pid)
	}
	add(2, 30)
	if !slices.Equal(asked, []int{10, 30}) {
		t.Errorf("asked %v", asked)
	}
	all.endJoin(10)
	all.takeArrival(11) // it has gone
	all.admit(join)
	if !slices.Equal(asked, []int{10, 30, 12}) {
		t.Errorf("asked %v", asked)
	}
	full = true
	all.endJoin(12)
	if refused := all.admit(join); len(refused) != 13 || refused[0] != 13 {
		t.Errorf("refused %v", refused)
	}
	if len(all.byPID) != 3 || len(all.queue) > 0 {
		t.Errorf("%d wait, queue %v", len(all.byPID), all.queue)
	}
}
