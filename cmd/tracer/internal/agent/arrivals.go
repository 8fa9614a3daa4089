package agent

import (
	"slices"
	"sync"
	"time"

	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/host/process"
)

// arrivals are the kernels that were found and have not joined yet, and the numbers of the kernels that have joined. Of
// each holder one kernel at a time is asked to join. To attach takes a tenth of a second, and nobody's kernel is to
// wait for all kernels of another user.
type arrivals struct {
	mu      sync.Mutex
	byPID   map[int]arrival
	queue   []int           // kernels that were not asked to join; the one that waits longest is first
	joining map[holder]bool // holders with a kernel that was asked to join
	heir    heir
	leaving map[uint32]bool   // the numbers that kernels give up
	numbers map[uint32]number // a kernel holds its number until all its processes have ended
	joined  uint64            // counts the kernels that have joined
}

func newArrivals() *arrivals {
	return &arrivals{byPID: map[int]arrival{}, joining: map[holder]bool{}, leaving: map[uint32]bool{},
		numbers: map[uint32]number{}}
}

// heir is the arrival that waits for the number of a kernel that leaves.
type heir struct {
	pid   int // 0: none waits
	since time.Time
}

// heirPatience is the longest time that an heir waits. In that time another kernel that wants a number is refused.
const heirPatience = 10 * time.Second

// arrival is a kernel that was found.
type arrival struct {
	inventory.Python
	facts facts
}

// addArrival adds a kernel.
func (all *arrivals) addArrival(p arrival) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.byPID[p.PID] = p
	all.queue = append(all.queue, p.PID)
}

// admit asks the next kernel of each holder to join. It returns the kernels that cannot join.
func (all *arrivals) admit(join func(process.Identity) bool) (refused []int) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.queue = slices.DeleteFunc(all.queue, func(pid int) bool {
		p, is := all.byPID[pid]
		switch {
		case !is:
			return true
		case all.joining[p.of()] || pid == all.heir.pid:
			return false
		case join(p.Identity):
			all.joining[p.of()] = true
		default:
			delete(all.byPID, pid)
			refused = append(refused, pid)
		}
		return true
	})
	return refused
}

// inherits makes an arrival the heir of the number that a kernel gives up. It returns false while another heir waits.
func (all *arrivals) inherits(pid int, from uint32, now time.Time) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.heir.pid != 0 && now.Sub(all.heir.since) < heirPatience {
		return false
	}
	all.heir, all.leaving[from] = heir{pid, now}, true
	return true
}

// freed takes a number back, and lets the heir join.
func (all *arrivals) freed(root uint32) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.heir = heir{}
	delete(all.leaving, root)
	delete(all.numbers, root)
}

// leaves reports whether the kernel with a number is to leave.
func (all *arrivals) leaves(root uint32) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.leaving[root]
}

// settle notes that a kernel no longer joins: the next kernel of its holder may be asked to join. It returns the
// holder.
func (all *arrivals) settle(pid int) holder {
	all.mu.Lock()
	defer all.mu.Unlock()
	p := all.byPID[pid]
	delete(all.joining, p.of())
	return p.of()
}

// hold gives a number to a kernel that has joined.
func (all *arrivals) hold(root uint32, of holder) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.joined++
	all.numbers[root] = number{of, all.joined}
}

// takeArrival removes a kernel and returns it. is reports whether it was there.
func (all *arrivals) takeArrival(pid int) (p arrival, is bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	p, is = all.byPID[pid]
	delete(all.byPID, pid)
	return p, is
}

// of returns the holder that an arrival's number is charged to.
func (p *arrival) of() holder { return holder{p.facts.account, p.Worker && p.IPython == ""} }

// holder is what the numbers of kernels are charged to: an account. An account's workers of Dask are charged apart.
type holder struct {
	account
	worker bool
}

// held counts numbers that are taken, or waited for: all of them, those of one holder, and those of the holder's group.
type held struct{ all, own, group int }

// add counts a number that a holder has.
func (n *held) add(has, of holder) {
	n.all++
	if has == of {
		n.own++
	}
	if has.group == of.group {
		n.group++
	}
}

// may reports whether a holder may have one more number. The last quarter of the numbers is for holders who have none,
// so that a few holders cannot take all numbers. per_user can leave less than a quarter. Workers get none of that
// quarter.
func (h *holder) may(n held, c *Config) bool {
	most, own := c.Kernels, c.PerUser
	last := min(c.Kernels/4, max(0, c.Kernels-own))
	switch {
	case h.worker:
		most, own = most-c.Kernels/4, c.Dask.PerUser
	case n.group > 0:
		most -= last
	}
	return n.all < most && n.own < own
}

// number is a number that a kernel holds.
type number struct {
	holder
	joined uint64 // the order in which kernels joined
}

// surplus returns the number to give up for one more kernel of a group that has some: the newest number of the group
// that has most. is is false if that group has less than two more numbers than the other: the number would only change
// sides.
func (all *arrivals) surplus(has int) (root uint32, is bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	groups := map[string]int{}
	for _, n := range all.numbers {
		groups[n.group]++
	}
	most := 0
	for at, n := range all.numbers {
		if has := groups[n.group]; has > most || has == most && n.joined > all.numbers[root].joined {
			root, most = at, has
		}
	}
	return root, most >= has+2
}

// held counts the numbers that kernels have, and those that arrivals wait for.
func (all *arrivals) held(of holder) (n held) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, one := range all.numbers {
		n.add(one.holder, of)
	}
	for _, p := range all.byPID {
		n.add(p.of(), of)
	}
	return n
}

// joinsAMinute is the most kernels of a user that join in a minute: each takes a tenth of a second of processor time,
// and a user can start and end them for ever.
const joinsAMinute = 60

// pace bounds how often somebody may begin something.
type pace struct {
	most  int // times in a stretch of time
	long  time.Duration
	since time.Time
	begun map[string]int // in the stretch since then, by name
}

// may reports whether somebody may begin once more. It counts each time that it is asked.
func (p *pace) may(name string, now time.Time) bool {
	if now.Sub(p.since) >= p.long || p.begun == nil {
		p.since, p.begun = now, map[string]int{}
	}
	p.begun[name]++
	return p.begun[name] <= p.most
}
