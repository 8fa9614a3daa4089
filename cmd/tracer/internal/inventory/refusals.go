package inventory

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// fileState distinguishes a file in its present state from all others. Only the kernel sets the time, except of files
// with a server of their own.
type fileState struct {
	Device, Inode, Size uint64
	Changed             [2]int64 // s, ns
}

func stateOf(st *unix.Stat_t) fileState {
	return fileState{uint64(st.Dev), st.Ino, uint64(st.Size), [2]int64{int64(st.Ctim.Sec), int64(st.Ctim.Nsec)}}
}

// refusal is a file that took too long, for a holder: nobody's look at a file decides about the kernels of others.
type refusal struct {
	holder Holder
	file   fileState
}

// refusals are the files that are not examined again for a while. It is safe for concurrent use.
type refusals struct {
	mu    sync.Mutex
	since map[refusal]time.Time
}

const (
	maxRefusals = 512
	maxOfHolder = 32
	refusedFor  = 10 * time.Minute
)

// add notes a file. The oldest makes room.
func (r *refusals) add(one refusal, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since == nil {
		r.since = map[refusal]time.Time{}
	}
	r.since[one] = now
	own := func(k refusal) bool { return k.holder == one.holder }
	r.trim(maxOfHolder, own)
	r.trim(maxRefusals, func(refusal) bool { return true })
}

// trim removes the oldest of some refusals if there are too many.
func (r *refusals) trim(most int, among func(refusal) bool) {
	n, oldest := 0, refusal{}
	for k, at := range r.since {
		if !among(k) {
			continue
		}
		if n++; n == 1 || at.Before(r.since[oldest]) {
			oldest = k
		}
	}
	if n > most {
		delete(r.since, oldest)
	}
}

// of returns the files that are not examined for a holder.
func (r *refusals) of(h Holder, now time.Time) (all []fileState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, at := range r.since {
		switch {
		case now.Sub(at) >= refusedFor:
			delete(r.since, k)
		case k.holder == h:
			all = append(all, k.file)
		}
	}
	return all
}
