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

	// sharedPatience is how long one answer about files may take in a program that has others to attend to meanwhile,
	// mostVain how long such a program waits in vain before it has only leastPatience. It regains a vainShare of the
	// time.
	sharedPatience = time.Second
	mostVain       = 2 * time.Second
	vainShare      = 30
)

// vainly is how long file systems were waited for that did not answer.
type vainly struct {
	waited time.Duration // less what was regained
	at     time.Time     // up to then
}

// left returns how long they may still be waited for.
func (v *vainly) left() time.Duration {
	now := time.Now()
	v.waited, v.at = max(0, v.waited-now.Sub(v.at)/vainShare), now
	return mostVain - v.waited
}

// add notes that one was waited for in vain. A nil vainly has nothing to note.
func (v *vainly) add(waited time.Duration) {
	if v != nil {
		v.waited += waited
	}
}

// Facts that a process can make as long as it likes, its mounts and its mappings, are not read for more than a share of
// the time: whoever reads them may do so for everybody on the machine.
const (
	// readShare is how many times as long as such a fact took to read it holds, or is not read again.
	readShare = 20
	// soonestRead is how long it holds at least.
	soonestRead = time.Second
	maxPaced    = 1 << 10 // processes; more are forgotten all at once
)

// device is a file system, as /proc/PID/maps and /proc/PID/mountinfo number it.
type device struct{ major, minor uint32 }

// pace has what was read of processes, until it is to be read again. Safe for concurrent use.
type pace struct {
	mu     sync.Mutex
	mounts map[string]mountsRead // by the process's name in /proc
	crowds map[int]time.Time     // until when processes have more mappings than are read
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

// kindsOf returns the kinds of file systems that a process sees: those that read returns, or has returned a moment ago.
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

// noteCrowd remembers such a process.
func (p *pace) noteCrowd(pid int, began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.crowds == nil || len(p.crowds) >= maxPaced {
		p.crowds = map[int]time.Time{}
	}
	p.crowds[pid] = restAfter(began)
}
