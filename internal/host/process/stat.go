package process

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Stat has the fields of /proc/PID/stat (proc_pid_stat(5)).
type Stat struct {
	PID           int
	Comm          string // the short name: up to 15 raw bytes of any value, 63 for kernel threads
	State         byte   // 'R', 'S', 'D', 'T', 'Z', …
	ParentPID     int    // 0 if the parent is outside of this pid namespace, or there is none
	Flags         uint32 // PF_ flags, include/linux/sched.h
	Threads       int
	StartTicks    uint64 // start after boot, in units of 1/100 s (USER_HZ)
	ResidentPages int64  // see [Status.ResidentBytes] for how exact it is
	CPU           int    // the processor that the main thread ran on last; -1 if the text does not say
}

// Flags of include/linux/sched.h.
const (
	pfExiting = 0x00000004 // PF_EXITING
	pfKthread = 0x00200000 // PF_KTHREAD
)

// KernelThread reports whether the process is one of the kernel's own threads.
func (s Stat) KernelThread() bool { return s.Flags&pfKthread != 0 }

// Ended reports whether the process is exiting, a zombie, or dead. A process whose first thread has ended counts as
// ended, even if other threads go on: Linux shows nothing more of it under its pid.
func (s Stat) Ended() bool {
	return s.State == 'Z' || s.State == 'X' || s.State == 'x' || s.Flags&pfExiting != 0
}

// Stat reads /proc/PID/stat. It works on zombies and on strangers' processes.
func (p Proc) Stat() (Stat, error) {
	data, _, err := p.read("stat", maxStat)
	if err != nil {
		return Stat{}, err
	}
	st, ok := parseStat(data)
	if !ok || st.PID != p.pid {
		return Stat{}, &Error{PID: p.pid, Kind: ErrMalformed}
	}
	return st, nil
}

// parseStat parses the text. It splits at the last parenthesis, because the name before that may have parentheses,
// spaces and newlines, which are not escaped. Behind the name, only numbers follow (do_task_stat, fs/proc/array.c).
func parseStat(data []byte) (Stat, bool) {
	pid, rest, ok := bytes.Cut(data, []byte(" ("))
	end := bytes.LastIndexByte(rest, ')')
	if !ok || end < 0 {
		return Stat{}, false
	}
	// proc_pid_stat(5) numbers the fields from 1. The first one here has number 3.
	fields := bytes.Fields(rest[end+1:])
	if len(fields) < 22 || len(fields[0]) != 1 {
		return Stat{}, false
	}
	good := true
	number := func(text []byte, bits int) int64 {
		n, err := strconv.ParseInt(string(text), 10, bits)
		good = good && err == nil
		return n
	}
	st := Stat{
		PID:           int(number(pid, 32)),
		Comm:          string(rest[:end]),
		State:         fields[0][0],
		ParentPID:     int(number(fields[4-3], 32)),
		Flags:         uint32(number(fields[9-3], 64)),
		Threads:       int(number(fields[20-3], 32)),
		StartTicks:    uint64(number(fields[22-3], 64)),
		ResidentPages: number(fields[24-3], 64),
		CPU:           -1,
	}
	if len(fields) > 39-3 {
		st.CPU = int(number(fields[39-3], 32))
	}
	return st, good && st.PID > 0 && st.ParentPID >= 0
}

// cpuclockSched is CPUCLOCK_SCHED of include/linux/posix-timers_types.h: the scheduler's count of nanoseconds.
const cpuclockSched = 2

// CPUTime returns the CPU time, user and system together, that all threads of a process have used since it started,
// also those that have ended. It reads the process's CPU clock (clock_gettime(2)), which is exact to the nanosecond,
// unlike /proc/PID/stat. It needs no privilege. Once the process has been reaped it fails with [ErrNoProcess], or
// returns the time of another process that has the pid by then. [Handle.CPUTime] does not have that flaw.
func CPUTime(pid int) (time.Duration, error) {
	if pid <= 0 || pid > maxPIDs {
		return 0, &Error{PID: pid, Kind: ErrNoProcess}
	}
	var ts unix.Timespec
	// MAKE_PROCESS_CPUCLOCK of include/linux/posix-timers_types.h, as clock_getcpuclockid(3) builds it.
	err := unix.ClockGettime(int32(^pid<<3|cpuclockSched), &ts)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ESRCH) {
		return 0, &Error{PID: pid, Kind: ErrNoProcess, Cause: err}
	}
	if err != nil {
		return 0, fmt.Errorf("process %d: CPU clock: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// LastRan returns for how long the process's main thread has not run. For a process that computes, it is about 0. For a
// process that waits for its next cell, it is the time since its last cell ended. ok is false if Linux does not show
// when the thread ran, or does not let this program run on the thread's last processor.
//
// The time in /proc/PID/sched is by the clock of one processor (rq_clock_task, kernel/sched/core.c). That clock leaves
// out the time that interrupts and other guests of the machine took. So the clocks of two processors drift apart: by
// 0.7 s in 12 hours on a machine where 1 % was stolen. Therefore LastRan reads the time by the same processor's clock.
func (p Proc) LastRan() (ago time.Duration, ok bool) {
	st, err := p.Stat()
	if err != nil {
		return 0, false
	}
	ran, ok := p.lastRun()
	if !ok {
		return 0, false
	}
	now, ok := p.fs.clockOf(st.CPU)
	return max(0, now-ran), ok
}

// clockOf returns the time by a processor's clock. The calling thread runs on that processor for a moment to read it.
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
		runtime.LockOSThread() // and never unlock: the thread cannot leave the processor, and ends with its goroutine
	}
	if err != nil {
		return 0, false
	}
	return execStart(data)
}

// lastRun returns when the main thread was last seen running, by the clock of its processor.
func (p Proc) lastRun() (time.Duration, bool) {
	data, _, err := p.read("sched", maxStat)
	if err != nil {
		return 0, false
	}
	return execStart(data)
}

// execStart returns the value se.exec_start in the text of /proc/PID/sched.
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
