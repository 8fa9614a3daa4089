package ledger

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/event"
)

// TestCPUTimeOfBoundary: the CPU time of a boundary lies between what the kernel says just before and just after, and is not that of the last
// tick, of a process whose threads run, begin and end all the time. The process is this one: nobody else may ask for the time of a thread.
func TestCPUTimeOfBoundary(t *testing.T) {
	for name, o := range map[string]Options{"": {}, "old loops": {OldLoops: true}} {
		t.Run(name, func(t *testing.T) { cpuTimeOfBoundary(t, o) })
	}
}

func cpuTimeOfBoundary(t *testing.T, o Options) {
	l := load(t, o)
	if err := l.Capabilities().NoClock; err != nil {
		t.Fatal(err)
	}
	stop := spin()
	defer stop()
	pid := os.Getpid()
	if _, err := l.AttachProcess(0, pid, 0); err != nil {
		t.Fatal(err)
	}
	const rounds = 100
	var c collected
	var since, until []event.Nanoseconds
	var last event.Nanoseconds
	wrong := 0
	for range rounds {
		before := used(t)
		for began := time.Now(); time.Since(began) < 3*time.Millisecond; { // some of a tick
		}
		if err := l.Detach(pid); err != nil { // any boundary
			t.Fatal(err)
		}
		after := used(t)
		c.boundaries = nil
		poll(t, l, &c)
		is := c.boundaries[len(c.boundaries)-1].CPUTime
		if is < last {
			t.Errorf("%d ns after %d ns", is, last)
		}
		if is < before || is > after {
			wrong++
			t.Logf("%d ns is not between %d and %d", is, before, after)
		}
		since, until, last = append(since, is-before), append(until, after-is), is
	}
	slices.Sort(since)
	slices.Sort(until)
	t.Logf("since the time before %d ns, until the time after %d ns (medians)", since[rounds/2], until[rounds/2])
	if wrong > rounds/20 { // what interrupts and a hypervisor take of a CPU is known at the next tick
		t.Errorf("%d of %d are not between the two", wrong, rounds)
	}
	if until[rounds/2] > since[rounds/2]/2 {
		t.Error("it is that of the last tick")
	}
}

// used is what the kernel says of the CPU time of this process. What other threads have used is as of when they were brought up to date last
// (thread_group_cputime); asking for a thread's own time does that. The clocks' ids are those of include/linux/posix-timers_types.h.
func used(t *testing.T) event.Nanoseconds {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	var ts unix.Timespec
	for _, of := range threads {
		if tid, err := strconv.Atoi(of.Name()); err == nil {
			_ = unix.ClockGettime(int32(^tid<<3|6), &ts) // it may have ended
		}
	}
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return event.Nanoseconds(ts.Nano())
}

// spin has threads that run, and one after the other that begins and ends, until it is told to stop.
func spin() (stop func()) {
	before := runtime.GOMAXPROCS(8)
	over := make(chan struct{})
	var isOver atomic.Bool
	for range 2 {
		go func() {
			for !isOver.Load() { // nothing but that
			}
		}()
	}
	go func() {
		for {
			ended := make(chan bool)
			go func() {
				runtime.LockOSThread() // and never unlocked: the thread ends
				for began := time.Now(); time.Since(began) < 2*time.Millisecond; {
				}
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
