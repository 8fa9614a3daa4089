package process

import (
	"sync"
	"time"
)

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
