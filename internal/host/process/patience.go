package process

import (
	"sync"
	"time"
)

const (
	// helperPatience is how long one answer may take: a server far away, or a disk that has to wake up, takes a second
	// or two.
	helperPatience = 5 * time.Second
	leastPatience  = 50 * time.Millisecond // for a file system that answers

	// sharedPatience is how long one answer about files may take in a program that has others to attend to meanwhile.
	// mostVain is how long such a program may wait in vain in all: after that it waits only leastPatience. It regains a
	// vainShare of the time that passes.
	sharedPatience = time.Second
	mostVain       = 2 * time.Second
	vainShare      = 30
)

// vainly is how long a program has waited for file systems that did not answer.
type vainly struct {
	waited time.Duration // less what was regained
	at     time.Time     // up to then
}

// left returns how long the program may still wait for such file systems.
func (v *vainly) left() time.Duration {
	now := time.Now()
	v.waited, v.at = max(0, v.waited-now.Sub(v.at)/vainShare), now
	return mostVain - v.waited
}

// add notes that the program waited in vain for a file system. A nil vainly notes nothing.
func (v *vainly) add(waited time.Duration) {
	if v != nil {
		v.waited += waited
	}
}

// A process can make the lists of its mounts and of its mappings as long as it likes. So reading these lists takes at
// most a share of the time: the program that reads them may do so for everybody on the machine.
const (
	// readShare bounds that share: a list that took some time to read is not read again for readShare times as long.
	readShare = 20
	// soonestRead is the shortest time for which a list is not read again.
	soonestRead = time.Second
	maxPaced    = 1 << 10 // processes; more are forgotten all at once
)

// device is a file system, as /proc/PID/maps and /proc/PID/mountinfo number it.
type device struct{ major, minor uint32 }

// pace keeps what was read of processes until it may be read again. It is safe for concurrent use.
type pace struct {
	mu     sync.Mutex
	mounts map[string]mountsRead // by the process's name in /proc
	crowds map[int]time.Time     // processes with more mappings than are read, and until when that holds
}

// mountsRead are the kinds of file systems that a process sees, and until when they need not be read again.
type mountsRead struct {
	kinds map[device]string
	until time.Time
}

func restAfter(began time.Time) time.Time {
	now := time.Now()
	return now.Add(max(soonestRead, readShare*now.Sub(began)))
}

// kindsOf returns the kinds of file systems that a process sees: what read returns, or returned a moment ago.
func (p *pace) kindsOf(pid string, read func(pid string) map[device]string) map[device]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.mounts[pid]; time.Now().Before(one.until) {
		return one.kinds
	}
	if p.mounts == nil || len(p.mounts) >= maxPaced {
		p.mounts = map[string]mountsRead{}
	}
	began := time.Now()
	kinds := read(pid)
	p.mounts[pid] = mountsRead{kinds, restAfter(began)}
	return kinds
}

// isCrowded reports whether a process had more mappings than are read, a moment ago.
func (p *pace) isCrowded(pid int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.crowds[pid])
}

// noteCrowd notes that a process has more mappings than are read.
func (p *pace) noteCrowd(pid int, began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.crowds == nil || len(p.crowds) >= maxPaced {
		p.crowds = map[int]time.Time{}
	}
	p.crowds[pid] = restAfter(began)
}
