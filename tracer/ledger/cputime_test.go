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
	tellingRounds = 50                                        // wanted, of those that tell a boundary from the last tick
	mostRounds    = 20_000                                    // of any
	telling       = event.Nanoseconds(500 * time.Microsecond) // of CPU time that passed for sure; a tick is 1 to 10 ms
	clockBehind   = event.Nanoseconds(20 * time.Microsecond)  // how far the program's clock of a CPU may be (observe_clock)
	longestTick   = event.Nanoseconds(10 * time.Millisecond)  // CONFIG_HZ=100
)

// TestCPUTimeOfBoundary: the CPU time of a boundary lies between what the kernel says just before and just after, and is not that of the last
// tick, of a process whose threads run, begin and end all the time. The process is this one: nobody else may ask for the time of a thread.
//
// Whoever else wants the CPUs does not decide it. A thread uses no more CPU time than time passes, so what the kernel says of it behind the
// boundary gives the least that it had used at the boundary. Where the CPU was taken away from it in between that is little, and the round does
// not count. A program that takes the time of the last tick is below that least in more than a third of the rounds that do.
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
	defer spin()()
	pid := os.Getpid()
	if _, err := l.AttachProcess(0, pid, 0); err != nil {
		t.Fatal(err)
	}
	var c collected
	var last event.Nanoseconds
	rounds, told, early, late := 0, 0, 0, 0
	for ; told < tellingRounds && rounds < mostRounds; rounds++ {
		before := askKernel(t)
		runFor(time.Millisecond) // some of a tick
		from := clock(t, unix.CLOCK_MONOTONIC_RAW)
		if err := l.Detach(pid); err != nil { // any boundary
			t.Fatal(err)
		}
		after := askKernel(t)
		c.boundaries = nil
		poll(t, l, &c)
		is := c.boundaries[len(c.boundaries)-1].CPUTime
		if is < last {
			t.Errorf("%d ns after %d ns", is, last)
		}
		last = is
		if least := before.least(after, from); least-before.process > telling {
			told++
			if is < least-clockBehind {
				early++
				t.Logf("%d ns, and it had used %d ns before", is, least)
			}
		}
		// What interrupts and a hypervisor take of a CPU is known at its next tick.
		if is > after.process+event.Nanoseconds(runtime.NumCPU())*longestTick {
			late++
			t.Logf("%d ns, and just behind it had used %d ns", is, after.process)
		}
	}
	t.Logf("of %d rounds %d tell", rounds, told)
	if told < tellingRounds {
		t.Skipf("in %d of %d rounds the CPUs were taken away", rounds-told, rounds)
	}
	if early > told/10 {
		t.Errorf("too low in %d of %d rounds: it is that of the last tick", early, told)
	}
	if late > rounds/2 {
		t.Errorf("too high in %d of %d rounds", late, rounds)
	}
}

// clocks is what the kernel says of the CPU time of this process and of its threads.
type clocks struct {
	process event.Nanoseconds
	threads map[int]reading
}

// reading is what a thread has used, as of when time itself says until, or before.
type reading struct{ used, until event.Nanoseconds }

// least returns what the process has used at an instant between the two, at least.
func (before clocks) least(after clocks, at event.Nanoseconds) event.Nanoseconds {
	sum := before.process
	for tid, b := range before.threads {
		if a, lives := after.threads[tid]; lives {
			sum += max(0, a.used-(a.until-at)-b.used)
		}
	}
	return sum
}

// askKernel asks for each thread's time twice. What the kernel says of a process is as of when its other threads were brought up to date last
// (thread_group_cputime), and asking for a thread's own time does that. The clocks' ids are those of include/linux/posix-timers_types.h.
func askKernel(t *testing.T) clocks {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	var ts unix.Timespec
	used := func(of os.DirEntry) (tid int, lives bool) {
		tid, err := strconv.Atoi(of.Name())
		return tid, err == nil && unix.ClockGettime(int32(^tid<<3|6), &ts) == nil
	}
	for _, of := range threads {
		used(of)
	}
	c := clocks{process: clock(t, unix.CLOCK_PROCESS_CPUTIME_ID), threads: map[int]reading{}}
	for _, of := range threads {
		if tid, lives := used(of); lives { // and not ended
			c.threads[tid] = reading{event.Nanoseconds(ts.Nano()), clock(t, unix.CLOCK_MONOTONIC_RAW)}
		}
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
				runFor(2 * time.Millisecond)
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
