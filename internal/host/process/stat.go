package process

import (
	"bytes"
	"strconv"
)

// Stat has the fields of /proc/PID/stat (proc_pid_stat(5)).
type Stat struct {
	PID           int
	Comm          string // the kernel's short name: up to 15 raw bytes of any value, 63 for kernel threads
	State         byte   // 'R', 'S', 'D', 'T', 'Z', …
	ParentPID     int    // 0 when the parent is outside this pid namespace, or there is none
	Flags         uint32 // PF_ flags, include/linux/sched.h
	Threads       int
	StartTicks    uint64 // start after boot, in units of 1/100 s (USER_HZ)
	ResidentPages int64  // see [Status.ResidentBytes] for how exact it is
	CPU           int    // the processor that the main thread ran on last, -1 where the text ends before
}

// Flags of include/linux/sched.h.
const (
	pfExiting = 0x00000004 // PF_EXITING
	pfKthread = 0x00200000 // PF_KTHREAD
)

// KernelThread reports whether the process is one of the kernel's own threads.
func (s Stat) KernelThread() bool { return s.Flags&pfKthread != 0 }

// Ended reports whether the process is over: exiting, a zombie, or dead. A process with other threads that outlive its
// first one counts as ended too: the kernel shows nothing more of it under its pid.
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

// parseStat splits at the last parenthesis: the name before it may hold parentheses, spaces and newlines and is not
// escaped. Only numbers follow it (do_task_stat, fs/proc/array.c).
func parseStat(data []byte) (Stat, bool) {
	pid, rest, ok := bytes.Cut(data, []byte(" ("))
	end := bytes.LastIndexByte(rest, ')')
	if !ok || end < 0 {
		return Stat{}, false
	}
	// Fields of proc_pid_stat(5) are counted from 1; the first here is number 3.
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
