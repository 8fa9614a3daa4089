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
	ErrNoRoom   = errors.New("a session traces no more processes at a time")
)

// joining are the processes that are to join a session that goes on without targets. Its fields but open, calm and
// Arrivals are for any goroutine, under mu.
type joining struct {
	open bool // the session goes on without targets
	calm bool // no record came at the last look
	Arrivals

	mu      sync.Mutex
	waiting []process.Identity
	leaving []uint32 // roots
	wake    func() error
}

const (
	// maxJoining is the most processes that wait to join.
	maxJoining = 64
	// restOfRoot is how long the number of a root is not used again after its last process: until then, records of it
	// may be on their way. A slot rests as long at most (bpf/slots.h).
	restOfRoot = 2 * time.Second
)

// Arrivals has the functions that [Session.Next] calls for the processes that join a session. They must not wait.
type Arrivals struct {
	// Joined has the outcome for each. It is called before Next returns the first event of the process, with its root.
	Joined func(id process.Identity, root uint32, err error)
	// Released says that a root and all its processes have ended, or left: the next process may get its number.
	Released func(root uint32)
	// Born says that there are births to read; nil: nobody wants to know.
	Born func()
}

// next removes the process that waits longest.
func (j *joining) next() (id process.Identity, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.waiting) == 0 {
		return id, false
	}
	id, j.waiting = j.waiting[0], j.waiting[1:]
	return id, true
}

// leavers removes the roots that are to leave.
func (j *joining) leavers() []uint32 {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := j.leaving
	j.leaving = nil
	return all
}

// close lets nothing join any more.
func (j *joining) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.wake, j.waiting, j.leaving = nil, nil, nil
}

// announce says that there are births to read; nil: none are noted.
func (j *joining) announce(b *ledger.Births) {
	if j.Born != nil && b != nil && b.Unread() {
		j.Born()
	}
}
