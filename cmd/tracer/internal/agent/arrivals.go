package agent

import (
	"slices"
	"sync"
	"time"

	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/host/process"
)

// arrivals are the kernels that were found and have not joined the session yet, and the slots of the kernels that have.
// A slot is one of the session's root numbers, of which there are [ledger.MaxRoots]. Only one kernel of each holder is
// asked to join at a time: an attach takes a tenth of a second, and no kernel may have to wait for all kernels of
// another user.
type arrivals struct {
	mu      sync.Mutex
	byPID   map[int]arrival
	queue   []int           // process IDs of kernels that were not asked to join; the first one waits longest
	joining map[holder]bool // holders with a kernel that was asked to join
	heir    heir
	leaving map[uint32]bool // roots of kernels that give up their slots
	slots   map[uint32]slot // by root; a kernel has its slot until all its processes have ended
	joined  uint64          // number of kernels that have joined so far
}

func newArrivals() *arrivals {
	return &arrivals{byPID: map[int]arrival{}, joining: map[holder]bool{}, leaving: map[uint32]bool{},
		slots: map[uint32]slot{}}
}

// heir is the arrival that waits for the slot of a leaving kernel.
type heir struct {
	pid   int // 0: none waits
	since time.Time
}

// heirPatience is the longest time that an heir waits. Meanwhile no second arrival can become heir.
const heirPatience = 10 * time.Second

// arrival is a kernel that was found.
type arrival struct {
	inventory.Python
	facts facts
}

// addArrival puts a kernel at the end of the queue.
func (all *arrivals) addArrival(p arrival) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.byPID[p.PID] = p
	all.queue = append(all.queue, p.PID)
}

// admit asks the next kernel of each holder to join. It returns the process IDs of kernels for which join returns
// false.
func (all *arrivals) admit(join func(process.Identity) bool) (refused []int) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.queue = slices.DeleteFunc(all.queue, func(pid int) bool {
		p, isHere := all.byPID[pid]
		switch {
		case !isHere:
			return true
		case all.joining[p.holder()] || pid == all.heir.pid:
			return false
		case join(p.Identity):
			all.joining[p.holder()] = true
		default:
			delete(all.byPID, pid)
			refused = append(refused, pid)
		}
		return true
	})
	return refused
}

// setHeir makes an arrival the heir of the slot that the kernel with root from gives up. It returns false while another
// heir waits.
func (all *arrivals) setHeir(pid int, from uint32, now time.Time) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.heir.pid != 0 && now.Sub(all.heir.since) < heirPatience {
		return false
	}
	all.heir, all.leaving[from] = heir{pid, now}, true
	return true
}

// freeSlot frees a slot, and lets the heir join.
func (all *arrivals) freeSlot(root uint32) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.heir = heir{}
	delete(all.leaving, root)
	delete(all.slots, root)
}

// isLeaving reports whether a kernel was told to give up its slot.
func (all *arrivals) isLeaving(root uint32) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.leaving[root]
}

// endJoin notes that a kernel has joined, or could not: the holder's next kernel may be asked. It returns the holder.
func (all *arrivals) endJoin(pid int) holder {
	all.mu.Lock()
	defer all.mu.Unlock()
	p := all.byPID[pid]
	delete(all.joining, p.holder())
	return p.holder()
}

// takeSlot gives a slot to a kernel that has joined.
func (all *arrivals) takeSlot(root uint32, by holder) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.joined++
	all.slots[root] = slot{by, all.joined}
}

// takeArrival removes and returns a kernel. ok is false if it was not there.
func (all *arrivals) takeArrival(pid int) (p arrival, ok bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	p, ok = all.byPID[pid]
	delete(all.byPID, pid)
	return p, ok
}

// holder returns who is charged for an arrival's slot.
func (p *arrival) holder() holder { return holder{p.facts.account, p.Worker && p.IPython == ""} }

// holder is who is charged for slots: an account, with its kernels and its workers of Dask counted apart.
type holder struct {
	account
	worker bool
}

// slotCounts counts slots that are taken or waited for: in total, of one holder, and of all holders of its group.
type slotCounts struct{ total, own, group int }

// add counts a slot of has, in the counts for a holder.
func (n *slotCounts) add(has, holder holder) {
	n.total++
	if has == holder {
		n.own++
	}
	if has.group == holder.group {
		n.group++
	}
}

// mayTake reports whether a holder may take one more slot. The last quarter of the slots is for groups without any, so
// that a few users cannot take all slots; it is smaller if per_user leaves less than a quarter. Workers may take three
// quarters at most.
func (h *holder) mayTake(n slotCounts, c *Config) bool {
	total, own := c.Kernels, c.PerUser
	reserved := min(c.Kernels/4, max(0, c.Kernels-own))
	switch {
	case h.worker:
		total, own = total-c.Kernels/4, c.Dask.PerUser
	case n.group > 0:
		total -= reserved
	}
	return n.total < total && n.own < own
}

// slot is the slot of a kernel.
type slot struct {
	holder
	joined uint64 // the order in which kernels joined
}

// surplus returns the root of the kernel to give up for one more kernel of a group that has groupHas slots: the newest
// kernel of the group with most slots. ok is false if that group has fewer than two slots more, because then the two
// groups would only change places.
func (all *arrivals) surplus(groupHas int) (root uint32, ok bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	byGroup := map[string]int{}
	for _, s := range all.slots {
		byGroup[s.group]++
	}
	most := 0
	for r, s := range all.slots {
		has := byGroup[s.group]
		isNewer := s.joined > all.slots[root].joined
		if has > most || has == most && isNewer {
			root, most = r, has
		}
	}
	return root, most >= groupHas+2
}

// countSlots counts the slots that kernels have, and those that arrivals wait for.
func (all *arrivals) countSlots(holder holder) (n slotCounts) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, s := range all.slots {
		n.add(s.holder, holder)
	}
	for _, p := range all.byPID {
		n.add(p.holder(), holder)
	}
	return n
}

// joinsAMinute is the most kernels of a user that join in a minute. Each join takes a tenth of a second of processor
// time, and a user can start and end kernels without end.
const joinsAMinute = 60

// rateLimit bounds how often somebody may begin something.
type rateLimit struct {
	limit  int // times in a period
	period time.Duration
	since  time.Time      // when the present period began
	counts map[string]int // times in the present period, by name
}

// allow reports whether somebody may begin once more in this period. It counts each call.
func (p *rateLimit) allow(name string, now time.Time) bool {
	if now.Sub(p.since) >= p.period || p.counts == nil {
		p.since, p.counts = now, map[string]int{}
	}
	p.counts[name]++
	return p.counts[name] <= p.limit
}
