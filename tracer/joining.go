package tracer

import (
	"errors"
	"sync"
	"time"

	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// Errors of processes that cannot join a session.
var (
	ErrFollowed = errors.New("it is traced already")
	ErrNoRoom   = errors.New("the session cannot trace more processes at the same time")
)

// joining has the processes that wait to join, or to leave, a session of [Follow].
type joining struct {
	open bool // this is a session of Follow: it goes on without targets
	calm bool // the last poll returned no record
	Arrivals

	mu      sync.Mutex // guards the fields below, which any goroutine may use
	waiting []process.Identity
	leaving []uint32 // roots
	wake    func() error
}

const (
	// maxJoining is the largest number of processes that wait to join.
	maxJoining = 64
	// restOfRoot is the least time between the end of a root's last process and the next use of its number: meanwhile
	// records of the root may still come. A slot rests as long at most (bpf/slots.h).
	restOfRoot = 2 * time.Second
)

// Arrivals has the functions that [Session.Next] calls for the processes that join a session. They must not wait.
type Arrivals struct {
	// Joined is called with the result for each process that joined, before Next returns the process's first event.
	Joined func(id process.Identity, root uint32, err error)
	// Released is called when all processes of a root have ended or left. The next process may get its number.
	Released func(root uint32)
	// Born is called when there are births to read. It may be nil.
	Born func()
}

// next removes and returns the process that has waited longest.
func (j *joining) next() (id process.Identity, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.waiting) == 0 {
		return id, false
	}
	id, j.waiting = j.waiting[0], j.waiting[1:]
	return id, true
}

// leavers removes and returns the roots that wait to leave.
func (j *joining) leavers() []uint32 {
	j.mu.Lock()
	defer j.mu.Unlock()
	roots := j.leaving
	j.leaving = nil
	return roots
}

// close lets no process join or leave any more.
func (j *joining) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.wake, j.waiting, j.leaving = nil, nil, nil
}

// announce calls Born if there are births to read. b is nil if births are not recorded.
func (j *joining) announce(b *ledger.Births) {
	if j.Born != nil && b != nil && b.Unread() {
		j.Born()
	}
}
