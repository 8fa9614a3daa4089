package ledger

import (
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/event"
)

// The rounds of TestCPUTimeOfBoundary.
const (
	// wanted rounds of those that distinguish the time of a boundary from a wrong one
	wantedRounds = 15
	enoughRounds = 10                                        // of those, when the time is over
	longest      = time.Minute                               // for rounds of any kind
	clearUse     = event.Nanoseconds(500 * time.Microsecond) // CPU time that certainly passed; a tick is 1 to 10 ms
	narrow       = 3                                         // at least this many widths of the bounds have passed
	// largest error of the program's clock of a CPU (observe_clock)
	clockBehind = event.Nanoseconds(20 * time.Microsecond)
	// the CPU time that interrupts and a hypervisor take is known only at the next tick
	unseen = event.Nanoseconds(50 * time.Microsecond)
)

// TestCPUTimeOfBoundary: the CPU time of a boundary is the time that the process had used at the boundary, and not its
// time at the last tick, nor more. Its threads run, begin and end all the time. The process is this one: no other
// process may read the time of a thread.
//
// Other programs that compete for the CPUs do not affect the result. A thread uses no more CPU time than time passes,
// so the kernel's answers before and after the boundary bound the time that it had used at the boundary. If it lost its
// CPU in between, the bounds are wide, and the round does not count. A program that takes the time of the last tick, or
// adds the time since then twice, is outside the bounds in more than a third of the rounds that count.
func TestCPUTimeOfBoundary(t *testing.T) {
	for name, o := range map[string]Options{"": {}, "old kernel": {OldKernel: true}} {
		t.Run(name, func(t *testing.T) { cpuTimeOfBoundary(t, o) })
	}
}

func cpuTimeOfBoundary(t *testing.T, o Options) {
	l := load(t, o)
	if err := l.Capabilities().NoClock; err != nil {
		t.Fatal(err)
	}
	defer spin()()
	pid := os.Getpid()
	if _, err := l.Processes.AttachProcess(0, pid, 0); err != nil {
		t.Fatal(err)
	}
	var c collected
	var last event.Nanoseconds
	rounds, clear, early, late := 0, 0, 0, 0
	for began := time.Now(); clear < wantedRounds && time.Since(began) < longest; rounds++ {
		before := askKernel(t)
		runFor(time.Millisecond) // a part of a tick
		from := clock(t, unix.CLOCK_MONOTONIC_RAW)
		if err := l.Processes.Detach(pid); err != nil { // any kind of boundary
			t.Fatal(err)
		}
		to := clock(t, unix.CLOCK_MONOTONIC_RAW)
		after := askKernel(t)
		c.boundaries = nil
		poll(t, l, &c)
		is := c.boundaries[len(c.boundaries)-1].CPUTime
		if is < last {
			t.Errorf("%d ns after %d ns", is, last)
		}
		last = is
		least, most := before.least(after, from), before.most(after, to)
		if used := least - before.process; used < clearUse || used < narrow*(most-least) {
			continue
		}
		clear++
		switch {
		case is < least-clockBehind:
			early++
			t.Logf("%d ns, and it had used %d ns before", is, least)
		case is > most+unseen:
			late++
			t.Logf("%d ns, and it had used %d ns behind it", is, most)
		}
	}
	t.Logf("of %d rounds %d are clear: too low in %d, too high in %d", rounds, clear, early, late)
	if clear < enoughRounds {
		t.Skipf("in %d of %d rounds the CPUs were taken away", rounds-clear, rounds)
	}
	if early > clear/5 {
		t.Errorf("too low in %d of %d rounds, as that of the last tick", early, clear)
	}
	if late > clear/5 {
		t.Errorf("too high in %d of %d rounds", late, clear)
	}
}

// clocks has the kernel's CPU times of this process and of its threads.
type clocks struct {
	process event.Nanoseconds
	threads map[int]reading
}

// reading has the times of a thread: the first value is of an instant after since and before the reading of the
// process, the second of an instant before until.
type reading struct{ first, since, used, until event.Nanoseconds }

// least returns a lower bound of the time that the process has used at an instant between the two readings.
func (before clocks) least(after clocks, at event.Nanoseconds) event.Nanoseconds {
	sum := before.process
	for tid, b := range before.threads {
		if a, lives := after.threads[tid]; lives {
			sum += max(0, a.used-(a.until-at)-b.used)
		}
	}
	return sum
}

// most returns an upper bound of that time.
func (before clocks) most(after clocks, at event.Nanoseconds) event.Nanoseconds {
	sum := after.process
	for tid, b := range before.threads {
		if a, lives := after.threads[tid]; lives {
			sum -= max(0, a.first-(b.first+at-b.since))
		}
	}
	return sum
}

// askKernel reads the time of each thread twice. The kernel's time of a process is as of the last update of its other
// threads (thread_group_cputime), and reading a thread's own time updates that thread. The ids of the clocks are those
// of include/linux/posix-timers_types.h.
func askKernel(t *testing.T) clocks {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	var ts unix.Timespec
	used := func(tid int) (used event.Nanoseconds, lives bool) { // lives: the thread has not ended
		err := unix.ClockGettime(int32(^tid<<3|6), &ts)
		return event.Nanoseconds(ts.Nano()), err == nil
	}
	c := clocks{threads: map[int]reading{}}
	for _, of := range threads {
		tid, err := strconv.Atoi(of.Name())
		if err != nil {
			t.Fatal(err)
		}
		since := clock(t, unix.CLOCK_MONOTONIC_RAW)
		if first, lives := used(tid); lives {
			c.threads[tid] = reading{first: first, since: since}
		}
	}
	c.process = clock(t, unix.CLOCK_PROCESS_CPUTIME_ID)
	for tid, r := range c.threads {
		var lives bool
		if r.used, lives = used(tid); !lives {
			delete(c.threads, tid)
			continue
		}
		r.until = clock(t, unix.CLOCK_MONOTONIC_RAW)
		c.threads[tid] = r
	}
	return c
}

func clock(t *testing.T, id int32) event.Nanoseconds {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		t.Fatal(err)
	}
	return event.Nanoseconds(ts.Nano())
}

func runFor(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

// spin runs threads, and one after another that begins and ends, until stop is called.
func spin() (stop func()) {
	before := runtime.GOMAXPROCS(8)
	over := make(chan struct{})
	var isOver atomic.Bool
	for range 2 {
		go func() {
			for !isOver.Load() { // the thread does nothing else
			}
		}()
	}
	go func() {
		for {
			ended := make(chan bool)
			go func() {
				runtime.LockOSThread()        // and never unlocked, so the thread ends
				runFor(10 * time.Millisecond) // the other threads do some rounds
				close(ended)
			}()
			select {
			case <-over:
				return
			case <-ended:
			}
		}
	}()
	return func() {
		isOver.Store(true)
		close(over)
		runtime.GOMAXPROCS(before)
	}
}
