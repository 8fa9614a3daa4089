package process

import (
	"sync"
	"time"
)

const (
	// helperPatience is how long an answer may take. A distant server or a sleeping disk takes a second or two.
	helperPatience = 5 * time.Second
	// leastPatience is enough for a file system that answers at once. No limit is shorter.
	leastPatience = 50 * time.Millisecond

	// sharedPatience is how long an answer about files may take in a program that works for several users.
	sharedPatience = time.Second
	// mostVain is how long such a program may wait in vain altogether. After that it waits only leastPatience.
	mostVain = 2 * time.Second
	// vainShare is the part of the passing time, one in so many, by which the program may wait again.
	vainShare = 30
)

// vainWait counts how long a program has waited for file systems that did not answer.
type vainWait struct {
	waited time.Duration // minus what was regained until at
	at     time.Time
}

// left returns how long the program may still wait for file systems that do not answer.
func (v *vainWait) left() time.Duration {
	now := time.Now()
	v.waited, v.at = max(0, v.waited-now.Sub(v.at)/vainShare), now
	return mostVain - v.waited
}

// add notes that the program waited in vain for a file system. A nil vainWait notes nothing.
func (v *vainWait) add(waited time.Duration) {
	if v != nil {
		v.waited += waited
	}
}

// A process can make the lists of its mounts and of its mappings very long. A program may read these lists for all
// users of the machine, so reading them may take only a part of its time.
const (
	// readShare sets that part: after reading a list, it is not read again for readShare times as long.
	readShare = 20
	// soonestRead is the shortest time after which a list is read again.
	soonestRead = time.Second
	maxPaced    = 1 << 10 // processes that are remembered; if there are more, all are forgotten
)

// device identifies a file system in /proc/PID/maps and /proc/PID/mountinfo.
type device struct{ major, minor uint32 }

// pace remembers the results of reading long lists, until the lists may be read again. It is safe for concurrent use.
type pace struct {
	mu     sync.Mutex
	mounts map[string]mountsRead // by the process's name in /proc
	crowds map[int]time.Time     // processes with too many mappings, and until when these are not read again
}

// mountsRead are the kinds of file systems that a process sees. They are not read again before until.
type mountsRead struct {
	kinds map[device]string
	until time.Time
}

// restAfter returns when a list may be read again, if reading it began at a time and has ended now.
func restAfter(began time.Time) time.Time {
	now := time.Now()
	return now.Add(max(soonestRead, readShare*now.Sub(began)))
}

// kindsOf returns the kinds of file systems that a process sees. It calls read, or returns an earlier result of read.
func (p *pace) kindsOf(pid string, read func(pid string) map[device]string) map[device]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if earlier := p.mounts[pid]; time.Now().Before(earlier.until) {
		return earlier.kinds
	}
	if p.mounts == nil || len(p.mounts) >= maxPaced {
		p.mounts = map[string]mountsRead{}
	}
	began := time.Now()
	kinds := read(pid)
	p.mounts[pid] = mountsRead{kinds, restAfter(began)}
	return kinds
}

// isCrowded reports whether a process had too many mappings a moment ago.
func (p *pace) isCrowded(pid int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.crowds[pid])
}

// noteCrowd notes that a process has too many mappings, found by a read that began at a time.
func (p *pace) noteCrowd(pid int, began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.crowds == nil || len(p.crowds) >= maxPaced {
		p.crowds = map[int]time.Time{}
	}
	p.crowds[pid] = restAfter(began)
}
