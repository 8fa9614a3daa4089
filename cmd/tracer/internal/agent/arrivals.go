package agent

import (
	"slices"
	"sync"
	"time"

	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/tracer/host/process"
)

// arrivals are the kernels that were found, until they have joined. One of each holder is asked to join at a time: to
// attach takes a tenth of a second, and nobody's kernels are to wait for all of another user's.
type arrivals struct {
	mu      sync.Mutex
	byPID   map[int]arrival
	queue   []int           // those that were not asked to join, the one that waits longest first
	joining map[holder]bool // who has one that was
}

// arrival is a kernel that was found.
type arrival struct {
	inventory.Python
	facts facts
}

// addArrival adds a kernel.
func (all *arrivals) addArrival(p arrival) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.byPID == nil {
		all.byPID = map[int]arrival{}
	}
	all.byPID[p.PID] = p
	all.queue = append(all.queue, p.PID)
}

// admit asks kernels to join. It returns those that cannot.
func (all *arrivals) admit(join func(process.Identity) bool) (refused []int) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.joining == nil {
		all.joining = map[holder]bool{}
	}
	all.queue = slices.DeleteFunc(all.queue, func(pid int) bool {
		p, is := all.byPID[pid]
		switch {
		case !is:
			return true
		case all.joining[p.of()]:
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

// settle lets the next kernel of a holder join.
func (all *arrivals) settle(of holder) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.joining, of)
}

// takeArrival removes a kernel; is reports whether it was there.
func (all *arrivals) takeArrival(pid int) (p arrival, is bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	p, is = all.byPID[pid]
	delete(all.byPID, pid)
	return p, is
}

// of returns to whom an arrival's number counts.
func (p *arrival) of() holder { return holder{p.UID, p.facts.podUID, p.Worker && p.IPython == ""} }

// holder is to whom a number of a kernel counts: a user or, as all pods of a hub have the same one, a user in a pod.
// Workers of Dask are counted apart.
type holder struct {
	uid    uint32
	pod    string
	worker bool
}

// room returns how many kernels or workers there may be in all, and of one holder. Some numbers are left for kernels.
func (h *holder) room(c *Config) (all, own int) {
	if h.worker {
		return c.Kernels - c.Kernels/4, c.Dask.PerUser
	}
	return c.Kernels, c.PerUser
}

// holderOf returns to whom a kernel that waits counts.
func (all *arrivals) holderOf(pid int) holder {
	all.mu.Lock()
	defer all.mu.Unlock()
	p := all.byPID[pid]
	return p.of()
}

// waiting returns how many wait, of all users and of one.
func (all *arrivals) waiting(of holder) (n, ofUser int) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, p := range all.byPID {
		if n++; p.of() == of {
			ofUser++
		}
	}
	return n, ofUser
}

// found lets a kernel join, if its user and the machine may have one more.
func (a *Agent) found(p inventory.Python) {
	c := a.config.Load()
	one := arrival{p, about(a.fs, p.PID, p.UID)}
	of := one.of()
	n, ofUser := a.metrics.held(of)
	waiting, waitingOfUser := a.waiting(of)
	most, own := of.room(c)
	if n+waiting >= most || ofUser+waitingOfUser >= own || !a.pace.may(of, time.Now()) {
		a.metrics.refuse()
		a.scout.forget(p.PID)
		return
	}
	a.addArrival(one)
	a.admitArrivals()
}

// admitArrivals asks the kernels to join of which it is the turn.
func (a *Agent) admitArrivals() {
	for _, pid := range a.admit(a.session.Join) {
		a.scout.forget(pid)
	}
}

// pace bounds how often the kernels of a user join: each takes a tenth of a second of processor time, and a user can
// start and end them for ever.
type pace struct {
	since  time.Time
	joined map[holder]int // in the minute since then
}

// joinsAMinute is the most kernels of a user that join in a minute.
const joinsAMinute = 60

// may reports whether one more of a user may join, and counts it.
func (p *pace) may(of holder, now time.Time) bool {
	if now.Sub(p.since) >= time.Minute || p.joined == nil {
		p.since, p.joined = now, map[holder]int{}
	}
	if p.joined[of] >= joinsAMinute {
		return false
	}
	p.joined[of]++
	return true
}
