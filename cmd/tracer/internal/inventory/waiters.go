package inventory

import (
	"slices"
	"sync"

	"ipytracer/internal/host/process"
)

// waiters are the helpers of workers that still wait for a file system, by the holder for whom they looked. Linux does
// not let such a helper end before the file system answers. The zero value has none.
type waiters struct {
	mu       sync.Mutex
	byHolder map[Holder][]waiter
}

// waiter is a helper that waits.
type waiter struct {
	process process.Identity
	silent  uint64 // the file system that does not answer; 0 if unknown
}

// maxWaiters bounds the helpers that wait for one holder. While so many wait, only file systems that are sure to answer
// are asked for that holder.
const maxWaiters = 8

// add notes that a helper waits for file systems.
func (w *waiters) add(holder Holder, helper process.Identity, silent ...uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byHolder == nil {
		w.byHolder = map[Holder][]waiter{}
	}
	for _, system := range silent {
		w.byHolder[holder] = append(w.byHolder[holder], waiter{helper, system})
	}
}

// silentFor returns the file systems for which helpers still wait, and whether these are too many. running reports
// whether a helper still runs.
func (w *waiters) silentFor(h Holder, running func(process.Identity) bool) (silent []uint64, tooMany bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	waiting := slices.DeleteFunc(w.byHolder[h], func(waiter waiter) bool { return !running(waiter.process) })
	if len(waiting) == 0 {
		delete(w.byHolder, h)
		return nil, false
	}
	w.byHolder[h] = waiting
	for _, waiter := range waiting {
		if waiter.silent != 0 {
			silent = append(silent, waiter.silent)
		}
	}
	return silent, len(waiting) >= maxWaiters
}

// isRunning reports whether a process, or one of its threads, has not ended.
func isRunning(id process.Identity) bool {
	st, err := process.FS{}.Proc(id.PID).Stat()
	return err == nil && st.StartTicks == id.StartTicks && (!st.Ended() || st.Threads > 1)
}
