package agent

import (
	"sync"
	"time"

	"ipytracer/cmd/tracer/internal/inventory"
)

// arrivals are the kernels that were found and asked to join, until they have.
type arrivals struct {
	mu    sync.Mutex
	byPID map[int]inventory.Python
}

// addArrival adds a kernel.
func (all *arrivals) addArrival(p inventory.Python) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.byPID == nil {
		all.byPID = map[int]inventory.Python{}
	}
	all.byPID[p.PID] = p
}

// takeArrival removes a kernel; is reports whether it was there.
func (all *arrivals) takeArrival(pid int) (p inventory.Python, is bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	p, is = all.byPID[pid]
	delete(all.byPID, pid)
	return p, is
}

// userOf returns the user of a kernel that waits.
func (all *arrivals) userOf(pid int) uint32 {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.byPID[pid].UID
}

// waiting returns how many wait, of all users and of one.
func (all *arrivals) waiting(uid uint32) (n, ofUser int) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, p := range all.byPID {
		if n++; p.UID == uid {
			ofUser++
		}
	}
	return n, ofUser
}

// found lets a kernel join, if its user and the machine may have one more.
func (a *Agent) found(p inventory.Python) {
	c := a.config.Load()
	n, ofUser := a.metrics.held(p.UID)
	waiting, waitingOfUser := a.waiting(p.UID)
	if n+waiting >= c.Kernels || ofUser+waitingOfUser >= c.PerUser || !a.pace.may(p.UID, time.Now()) {
		a.metrics.refuse()
		a.scout.forget(p.PID)
		return
	}
	a.addArrival(p)
	if !a.session.Join(p.Identity) {
		a.takeArrival(p.PID)
		a.scout.forget(p.PID)
	}
}

// pace bounds how often the kernels of a user join: each takes a tenth of a second of processor time, and a user can
// start and end them for ever.
type pace struct {
	since  time.Time
	joined map[uint32]int // in the minute since then
}

// joinsAMinute is the most kernels of a user that join in a minute.
const joinsAMinute = 60

// may reports whether one more of a user may join, and counts it.
func (p *pace) may(uid uint32, now time.Time) bool {
	if now.Sub(p.since) >= time.Minute || p.joined == nil {
		p.since, p.joined = now, map[uint32]int{}
	}
	if p.joined[uid] >= joinsAMinute {
		return false
	}
	p.joined[uid]++
	return true
}
