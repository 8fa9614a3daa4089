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

// Share has file systems that do not answer hold this program up for two seconds, and for a thirtieth of the time after
// that: nobody's are to keep it from the processes of others.
func (h *Helper) Share() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shared = &vainly{at: time.Now()}
}

// Hurry has all answers about files together take no longer than a while from now on, and then each no longer than
// leastPatience, those included that are being waited for. The first call counts. What the kernel itself says about a
// process is waited for as ever.
func (h *Helper) Hurry(while time.Duration) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hurry.IsZero() {
		h.hurry = time.Now().Add(while)
		close(h.hurried)
	}
}

// patience returns how long an answer about files is waited for that may take so long at most.
func (h *Helper) patience(most time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shared != nil {
		most = min(most, sharedPatience, max(leastPatience, h.shared.left()))
	}
	if !h.hurry.IsZero() {
		most = min(most, max(leastPatience, time.Until(h.hurry)))
	}
	return most
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

// pace has what was read of processes, until it is to be read again. Safe for concurrent use.
type pace struct {
	mu     sync.Mutex
	kinds  map[string]paced[map[device]string]
	crowds map[int]paced[struct{}] // processes with more mappings than are read
}

type paced[T any] struct {
	fact  T
	until time.Time
}

func restAfter(began time.Time) time.Time {
	now := time.Now()
	return now.Add(max(soonestRead, readShare*now.Sub(began)))
}

// kinds is [FS.kindsOf], of a moment ago where a Helper is there to remember it.
func (fs FS) kinds(pid string) map[device]string {
	if fs.Helper == nil || !fs.live() {
		return fs.kindsOf(pid)
	}
	p := &fs.Helper.pace
	p.mu.Lock()
	defer p.mu.Unlock()
	if one, is := p.kinds[pid]; is && time.Now().Before(one.until) {
		return one.fact
	}
	if p.kinds == nil || len(p.kinds) >= maxPaced {
		p.kinds = map[string]paced[map[device]string]{}
	}
	began := time.Now()
	one := paced[map[device]string]{fact: fs.kindsOf(pid)}
	one.until = restAfter(began)
	p.kinds[pid] = one
	return one.fact
}

// isCrowded reports whether a process had more mappings than are read, a moment ago.
func (h *Helper) isCrowded(pid int) bool {
	if h == nil {
		return false
	}
	h.pace.mu.Lock()
	defer h.pace.mu.Unlock()
	one, is := h.pace.crowds[pid]
	return is && time.Now().Before(one.until)
}

// noteCrowd remembers such a process.
func (h *Helper) noteCrowd(pid int, began time.Time) {
	if h == nil {
		return
	}
	h.pace.mu.Lock()
	defer h.pace.mu.Unlock()
	if h.pace.crowds == nil || len(h.pace.crowds) >= maxPaced {
		h.pace.crowds = map[int]paced[struct{}]{}
	}
	h.pace.crowds[pid] = paced[struct{}]{until: restAfter(began)}
}
