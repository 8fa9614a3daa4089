package processor

// A [Priority] raises the priority of another program's threads for a while, and limits the processor time that the
// program uses meanwhile. It needs CAP_SYS_NICE.

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// Most is the processor time that a program may use altogether while its priority is raised.
	Most = 5 * time.Second
	// Steps is how far the nice value is lowered. A thread then has the weight of 28 busy threads with the usual value
	// (sched_prio_to_weight, kernel/sched/core.c). If it shares two processors with 15 of these, it gets four fifths of
	// one processor.
	Steps = 15

	lowestNice = -20
	often      = 50 * time.Millisecond // between two reads of the processor time
	maxPasses  = 100                   // through the threads of a program that keeps starting new ones
	unbiased   = 20                    // getpriority(2) itself returns 20 minus the nice value
)

// ErrSpent is the error if the program has used all its time with a raised priority.
var ErrSpent = errors.New("it has run with priority for as long as it may")

// Priority raises the priority of a program and lowers it again. It is safe for concurrent use.
type Priority struct {
	pid           int
	usual, raised int                           // nice values
	used          func() (time.Duration, error) // processor time of the program

	mu    sync.Mutex
	left  time.Duration // processor time that the program may still use with a raised priority
	began time.Duration // the processor time when the priority was raised
	over  chan struct{} // closed when the priority is lowered; nil while it is the usual one
}

// NewPriority returns the Priority of a program that runs with its usual priority. used returns the program's processor
// time.
func NewPriority(pid int, used func() (time.Duration, error)) (*Priority, error) {
	found, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	if err != nil {
		return nil, fmt.Errorf("priority of process %d: %w", pid, err)
	}
	usual := unbiased - found
	return &Priority{pid: pid, usual: usual, raised: max(usual-Steps, lowestNice), used: used, left: Most}, nil
}

// Values returns the usual nice value and the raised one.
func (k *Priority) Values() (usual, raised int) { return k.usual, k.raised }

// Raise raises the priority of all threads, also of threads that begin later, until [Priority.Lower] or until the
// program has used its time. It fails with [ErrSpent] if no time is left.
func (k *Priority) Raise() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over != nil {
		return nil
	}
	if k.left <= 0 {
		return ErrSpent
	}
	began, err := k.used()
	if err != nil {
		return err
	}
	if err := k.set(k.raised); err != nil {
		return errors.Join(err, k.set(k.usual))
	}
	k.began, k.over = began, make(chan struct{})
	go k.watch(k.over)
	return nil
}

// Lower restores the usual priority.
func (k *Priority) Lower() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lower()
}

// lower does what Lower does, for callers that have k.mu.
func (k *Priority) lower() error {
	if k.over == nil {
		return nil
	}
	close(k.over)
	k.over = nil
	used, err := k.used()
	k.left -= used - k.began
	if err != nil { // the program has ended, or cannot be watched any more
		k.left = 0
	}
	return k.set(k.usual)
}

// watch lowers the priority once the program has used its time. It returns when over is closed.
func (k *Priority) watch(over chan struct{}) {
	look := time.NewTicker(often)
	defer look.Stop()
	for {
		select {
		case <-over:
			return
		case <-look.C:
		}
		k.mu.Lock()
		if used, err := k.used(); k.over == over && (err != nil || used-k.began >= k.left) {
			_ = k.lower()
		}
		k.mu.Unlock()
	}
}

// set sets the nice value of all threads. A new thread inherits the value of the thread that starts it. So all threads
// have the value once a pass through the threads has found no new one.
func (k *Priority) set(nice int) error {
	done := map[int]bool{}
	for range maxPasses {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", k.pid))
		if err != nil {
			return err
		}
		before := len(done)
		for _, task := range tasks {
			tid, err := strconv.Atoi(task.Name())
			if err != nil || done[tid] {
				continue
			}
			done[tid] = true
			err = unix.Setpriority(unix.PRIO_PROCESS, tid, nice)
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("priority of thread %d: %w", tid, err)
			}
		}
		if len(done) == before {
			return nil
		}
	}
	return fmt.Errorf("priority of process %d: it begins ever more threads", k.pid)
}
