package inventory

import (
	"slices"
	"sync"

	"ipytracer/internal/host/process"
)

// waiters are the helpers of workers that wait for a file system that does not answer, by the holder of the process
// that was looked at. Linux does not let such a helper end before the file system answers. The zero value has none.
type waiters struct {
	mu  sync.Mutex
	all map[Holder][]waiter
}

// waiter is a helper that waits.
type waiter struct {
	process process.Identity
	silent  uint64 // the file system; 0: not known
}

// maxWaiters is the largest number of a holder's file systems for which helpers wait at a time. While so many do, the
// holder's other file systems are asked only if they are sure to answer.
const maxWaiters = 8

// add notes that a helper waits.
func (w *waiters) add(of Holder, helper process.Identity, silent ...uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[Holder][]waiter{}
	}
	for _, one := range silent {
		w.all[of] = append(w.all[of], waiter{helper, one})
	}
}

// of returns the file systems for which helpers wait, and whether they are too many. isThere reports whether a process
// still runs.
func (w *waiters) of(h Holder, isThere func(process.Identity) bool) (silent []uint64, most bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.DeleteFunc(w.all[h], func(one waiter) bool { return !isThere(one.process) })
	if len(all) == 0 {
		delete(w.all, h)
		return nil, false
	}
	w.all[h] = all
	for _, one := range all {
		if one.silent != 0 {
			silent = append(silent, one.silent)
		}
	}
	return silent, len(all) >= maxWaiters
}

// isThere reports whether a process, or one of its threads, has not ended.
func isThere(id process.Identity) bool {
	st, err := process.FS{}.Proc(id.PID).Stat()
	return err == nil && st.StartTicks == id.StartTicks && (!st.Ended() || st.Threads > 1)
}
