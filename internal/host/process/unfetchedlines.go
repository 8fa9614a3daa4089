package process

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/packets"
)

// Bounds of lines that were sent and that nobody has fetched: the Linux kernel counts such descriptors as their
// sender's.
const (
	maxUnfetched   = 256
	maxUnfetchedOf = 128 // of one user
)

var errUnfetched = fmt.Errorf("so many lines that were sent to its user were not fetched that no more are made: %w",
	unix.EBUSY)

// unfetched are the sockets over which lines were sent, for as long as these may lie there.
type unfetched struct {
	mu  sync.Mutex
	all []sentOver
}

type sentOver struct {
	owner uint32
	fd    int
}

// keep keeps a socket over which a line was sent until it has been fetched.
func (u *unfetched) keep(owner uint32, fd int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, sentOver{owner, fd})
}

// hasRoom reports whether a line may be sent to a user. Sockets with lines that have been fetched by now are closed in
// the background.
func (u *unfetched) hasRoom(owner uint32, closers *packets.Closers) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	left, of := u.all[:0], 0
	for _, s := range u.all {
		// All that was sent over it has been received, or its other end is closed.
		if waits, err := unix.IoctlGetInt(s.fd, unix.TIOCOUTQ); err == nil && waits == 0 {
			closers.Put(s.owner, s.fd)
			continue
		}
		if left = append(left, s); s.owner == owner {
			of++
		}
	}
	u.all = left
	return len(u.all) < maxUnfetched && of < maxUnfetchedOf
}
