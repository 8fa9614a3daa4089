package serving

import (
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of the connections that porters close.
const (
	maxPorters  = 8   // processes at a time
	maxCarried  = 64  // connections of one porter
	maxPutAside = 512 // connections that wait for a porter; at this number no new connection is accepted
	// maxMisuses is how many connections with descriptors a user may make within misusedFor. Further connections of the
	// user are closed without an answer.
	maxMisuses = 3
	misusedFor = time.Minute
	retryAfter = 1 * time.Second // where a process could not be started
)

// porters closes connections in which descriptors are queued. Such a close may take as long as a stranger likes, so a
// process of its own, a porter, has some of these connections open, and is killed. Linux does not let a process linger
// that is being killed (inet_release, net/ipv4/af_inet.c), and any other slow close delays only that process.
//
// The server starts all its processes with forks held: a process that is being started has all of the server's
// descriptors for a moment, and could become the last one that has a connection open.
type porters struct {
	log   *slog.Logger
	start func([]*os.File) (*Child, error)
	forks sync.Locker

	mu      sync.Mutex
	changed *sync.Cond
	aside   []carried
	running int
	hurried bool                   // no further connections are accepted
	ended   bool                   // no further connections are put aside
	misused map[uint32][]time.Time // the times of misuses, by user
}

// carried is a connection that a porter is to close.
type carried struct {
	conn *os.File
	done func() // is called when conn is closed
}

func newPorters(o Options, forks sync.Locker) *porters {
	p := &porters{log: o.Log, start: o.Porter, forks: forks, misused: map[uint32][]time.Time{}}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// take puts a user's connection aside for a porter, and counts it as a misuse.
func (p *porters) take(conn *os.File, uid uint32, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.aside = append(p.aside, carried{conn, done})
	if len(p.misused) >= maxRemembered {
		clear(p.misused)
	}
	p.misused[uid] = append(p.recent(uid), time.Now())
	p.changed.Broadcast()
}

// recent returns a user's latest misuses within misusedFor, at most maxMisuses.
func (p *porters) recent(uid uint32) (all []time.Time) {
	for _, at := range p.misused[uid] {
		if time.Since(at) < misusedFor {
			all = append(all, at)
		}
	}
	if len(all) == 0 {
		delete(p.misused, uid)
	}
	return all[max(0, len(all)-maxMisuses):]
}

// trusts reports whether connections of a user are still answered.
func (p *porters) trusts(uid uint32) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.recent(uid)) < maxMisuses
}

// hurry ends all waits for room.
func (p *porters) hurry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hurried = true
	p.changed.Broadcast()
}

// awaitRoom waits until there is room to put one more connection aside.
func (p *porters) awaitRoom() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.aside) >= maxPutAside && !p.hurried {
		p.changed.Wait()
	}
}

// end makes run hand over the remaining connections, and return.
func (p *porters) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.changed.Broadcast()
}

// next waits, and returns the connections for the next porter; none at the end.
func (p *porters) next() []carried {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.ended && (len(p.aside) == 0 || p.running >= maxPorters) {
		p.changed.Wait()
	}
	some := p.aside[:min(len(p.aside), maxCarried)]
	p.aside = append([]carried(nil), p.aside[len(some):]...)
	p.running++
	return some
}

// run starts porters until the end.
func (p *porters) run() {
	for {
		some := p.next()
		if len(some) == 0 {
			return
		}
		child, err := p.carry(some)
		if err != nil {
			p.log.Warn("connections with descriptors could not be closed", "error", err)
			if p.gaveBack(some) {
				return
			}
			time.Sleep(retryAfter)
			continue
		}
		go func() { // one for each porter: maxPorters
			<-child.Ended
			for _, c := range some {
				c.done()
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.running--
			p.changed.Broadcast()
		}()
	}
}

// gaveBack puts connections aside again after their porter could not be started. It returns true at the end: then they
// stay open.
func (p *porters) gaveBack(some []carried) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	p.aside = append(some, p.aside...)
	return p.ended
}

// carry starts a process that takes over connections, closes them here, and kills the process.
func (p *porters) carry(some []carried) (*Child, error) {
	p.forks.Lock()
	defer p.forks.Unlock()
	files := make([]*os.File, len(some))
	for i, c := range some {
		files[i] = c.conn
	}
	child, err := p.start(files)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		f.Close() // which is not the last descriptor of it
	}
	if err := child.Signal(unix.SIGKILL); err != nil {
		p.log.Debug("a process that closes connections has ended by itself", "error", err)
	}
	return child, nil
}
