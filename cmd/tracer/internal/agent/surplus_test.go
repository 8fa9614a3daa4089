package agent

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/host/process"
)

// user returns the holder of a user's kernels.
func user(n int) holder { return holder{account: account{group: fmt.Sprint("user ", n)}} }

// wishes are users who want numbers.
type wishes struct {
	*testing.T
	config *Config
	*arrivals
	free  []uint32
	given int // up
}

func newWishes(t *testing.T) *wishes {
	c := DefaultConfig()
	w := &wishes{T: t, config: &c, arrivals: newArrivals()}
	for root := range uint32(c.Kernels) {
		w.free = append(w.free, root)
	}
	return w
}

// wants has a user want one more number, and reports whether there is one.
func (w *wishes) wants(n int) bool {
	of := user(n)
	has := w.countSlots(of)
	if !of.mayTake(has, w.config) {
		root, is := w.surplus(has.group)
		if !is {
			return false
		}
		gave := w.slots[root]
		for _, one := range w.slots {
			if one.group == gave.group && one.joined > gave.joined {
				w.Fatalf("number %d is not the newest of %s", root, gave.group)
			}
		}
		w.given++
		w.ends(root)
	}
	w.takeSlot(w.free[0], of)
	w.free = w.free[1:]
	return true
}

func (w *wishes) ends(root uint32) {
	w.freeSlot(root)
	w.free = append(w.free, root)
}

// TestNewcomerGetsASurplusNumber: with all numbers taken, a newcomer gets the newest number of the account that has
// most, and nobody gets one that would only change sides. So shares become equal, and it ends, though everybody who
// gave one up tries again.
func TestNewcomerGetsASurplusNumber(t *testing.T) {
	w := newWishes(t)
	for i := range 3 * 16 {
		w.wants(i % 3)
	}
	for n := range 16 {
		w.wants(100 + n)
	}
	if w.given > 0 || len(w.free) > 0 || w.wants(0) {
		t.Fatalf("%d given up, %d free", w.given, len(w.free))
	}
	for n := range 45 {
		if !w.wants(200 + n) {
			t.Fatalf("newcomer %d gets no number; shares %v", n, shares(w.arrivals))
		}
	}
	if all := shares(w.arrivals); len(all) != w.config.Kernels || slices.Max(all) > 1 {
		t.Errorf("shares %v", all)
	}
	if w.wants(999) || w.wants(0) {
		t.Error("a number has only changed sides")
	}
	for root, one := range w.slots { // 45 end, and the first users come back
		for n := range 45 {
			if one.holder == user(200+n) {
				w.ends(root)
			}
		}
	}
	w.given = 0
	for range 1000 {
		for _, n := range []int{0, 1, 2, 100} {
			w.wants(n)
		}
	}
	if all := shares(w.arrivals); w.given > 64 || len(all) != 19 || slices.Max(all)-all[len(all)-4] > 1 {
		t.Errorf("%d given up; shares %v", w.given, all)
	}
}

// shares returns how many numbers each account has, the least first.
func shares(of *arrivals) (all []int) {
	by := map[string]int{}
	for _, n := range of.slots {
		by[n.group]++
	}
	for _, n := range by {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// TestHeirWaitsForAFreeNumber: an arrival that gets the number of a kernel that leaves joins once a number is free.
// Meanwhile there is no other heir, and the kernel's end is none; later there is.
func TestHeirWaitsForAFreeNumber(t *testing.T) {
	all := newArrivals()
	var asked []int
	join := func(id process.Identity) bool { asked = append(asked, id.PID); return true }
	now := time.Unix(1000, 0)
	if !all.setHeir(10, 3, now) || all.setHeir(11, 4, now.Add(heirPatience-1)) ||
		!all.isLeaving(3) || all.isLeaving(4) {
		t.Error("there is not one heir")
	}
	for _, pid := range []int{10, 12} {
		p := arrival{Python: inventory.Python{PID: pid, Identity: process.Identity{PID: pid}}}
		p.facts.account = account{user: uint32(pid)}
		all.addArrival(p)
	}
	if all.admit(join); !slices.Equal(asked, []int{12}) {
		t.Errorf("asked %v before a number is free", asked)
	}
	all.freeSlot(3)
	if all.admit(join); !slices.Equal(asked, []int{12, 10}) || all.isLeaving(3) {
		t.Errorf("asked %v", asked)
	}
	if !all.setHeir(13, 5, now) || !all.setHeir(14, 6, now.Add(heirPatience)) || all.heir.pid != 14 ||
		!all.isLeaving(5) {
		t.Errorf("the heir is %+v", all.heir)
	}
}
