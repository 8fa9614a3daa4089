package process

import (
	"bytes"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// LastRan returns for how long the process's main thread has not run, by /proc/PID/sched. It works on strangers'
// processes. A process that computes has run now; one that waits for its next cell ran when the last one ended. ok is
// false where the kernel does not tell, or does not let this process run on the processor that the thread ran on last.
//
// The time in that file is of the processor's own clock (rq_clock_task, kernel/sched/core.c), which leaves out what
// interrupts and other guests of the machine took. Two processors' clocks drift apart for as long as the machine is up:
// by 0.7 s in 12 hours where 1 % was stolen. So the two times are of one processor.
func (p Proc) LastRan() (ago time.Duration, ok bool) {
	st, err := p.Stat()
	then, ok := p.lastRun()
	if err != nil || !ok {
		return 0, false
	}
	now, ok := p.fs.clockOf(st.CPU)
	return max(0, now-then), ok
}

// clockOf returns a processor's clock: it runs there for a moment.
func (fs FS) clockOf(cpu int) (time.Duration, bool) {
	var there, usual unix.CPUSet
	if cpu < 0 {
		return 0, false
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	there.Set(cpu)
	if unix.SchedGetaffinity(0, &usual) != nil || unix.SchedSetaffinity(0, &there) != nil {
		return 0, false
	}
	data, _, err := readBounded(filepath.Join(fs.root(), "thread-self", "sched"), maxStat)
	if unix.SchedSetaffinity(0, &usual) != nil {
		runtime.LockOSThread() // and never unlocked: the thread, which has to stay there, ends with its goroutine
	}
	if err != nil {
		return 0, false
	}
	return execStart(data)
}

// lastRun returns the time at which the main thread was last seen running, by the clock of its processor.
func (p Proc) lastRun() (time.Duration, bool) {
	data, _, err := p.read("sched", maxStat)
	if err != nil {
		return 0, false
	}
	return execStart(data)
}

// execStart returns se.exec_start of the text of a file named sched.
func execStart(data []byte) (time.Duration, bool) {
	for line := range bytes.Lines(data) {
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found || string(bytes.TrimSpace(name)) != "se.exec_start" {
			continue
		}
		ms, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
		if err != nil || !(ms > 0 && ms < 1e12) {
			return 0, false
		}
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	return 0, false
}
