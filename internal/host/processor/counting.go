// Package processor counts the work of processors for a process, by perf events: instructions, cycles, cache references
// and misses. It also raises a program's priority for a while. Package attribution decides to which windows the counts
// belong. The kernel half reads the events that the kernel counts itself (page faults, switches).
package processor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Event is the counted event, in the terms of perf_event_open(2).
type Event struct {
	Name   string
	Type   uint32
	Config uint64
}

// Processor are the counters of processors, in event.Counter's order.
var Processor = []Event{
	{"instructions", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS},
	{"cycles", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES},
	{"cache references", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_REFERENCES},
	{"cache misses", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_MISSES},
}

// Limits on open events.
const (
	maxThreads = 256 // of a process, as it is taken in: each takes a descriptor for each event
	attempts   = 20  // at threads that begin meanwhile
)

// ErrNoCounter is the error where this machine cannot count an event: the processor, or the virtual machine, has no
// counter for it.
var ErrNoCounter = errors.New("this machine has no such counter (in a virtual machine: " +
	"its processor's are not passed on)")

// Process is a process that is counted: all its threads, those to come included, and not its children.
type Process struct {
	open [][]int // of each event, a descriptor for each thread; nil where it is not counted
}

// Missing are events that cannot be counted for one reason.
type Missing struct {
	Events []string
	Why    error
}

// Open begins to count. Events that cannot be counted are left out, and missing names them.
func Open(pid int, events []Event) (p *Process, missing []Missing) {
	p = &Process{open: make([][]int, len(events))}
	for i, e := range events {
		fds, err := openAll(pid, e)
		if err == nil {
			p.open[i] = fds
			continue
		}
		same := func(m Missing) bool { return m.Why.Error() == err.Error() }
		at := slices.IndexFunc(missing, same)
		if at < 0 {
			at, missing = len(missing), append(missing, Missing{Why: err})
		}
		missing[at].Events = append(missing[at].Events, e.Name)
	}
	return p, missing
}

// openAll opens an event on every thread, so that none is counted twice: one that begins meanwhile may have inherited
// it or not.
func openAll(pid int, e Event) (fds []int, err error) {
	for range attempts {
		before, err := threadsOf(pid)
		if err != nil {
			return nil, err
		}
		if fds, err = openOn(before, e); err != nil {
			return nil, err
		}
		after, err := threadsOf(pid)
		if err == nil && slices.Equal(before, after) {
			return fds, nil
		}
		closeAll(fds)
	}
	return nil, errors.New("its threads begin and end too fast to be counted one by one")
}

func threadsOf(pid int) (threads []int, err error) {
	entries, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	if err != nil {
		return nil, fmt.Errorf("list its threads: %w", err)
	}
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			threads = append(threads, tid)
		}
	}
	if len(threads) > maxThreads {
		return nil, fmt.Errorf("it has %d threads; %d can be counted", len(threads), maxThreads)
	}
	slices.Sort(threads)
	return threads, nil
}

// inheritThread of struct perf_event_attr (include/uapi/linux/perf_event.h): threads inherit an event, and children do
// not.
const inheritThread = 1 << 35

func openOn(threads []int, e Event) (fds []int, err error) {
	attr := unix.PerfEventAttr{
		Type: e.Type, Config: e.Config, Size: unix.PERF_ATTR_SIZE_VER5, Bits: unix.PerfBitInherit | inheritThread,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
	}
	for _, tid := range threads {
		fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if errors.Is(err, unix.ESRCH) {
			continue // it has ended: the list of threads is another one by now
		}
		if err != nil {
			closeAll(fds)
			return nil, reason(err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

func reason(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.EOPNOTSUPP),
		errors.Is(err, unix.ENXIO):
		return ErrNoCounter
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("the kernel does not allow it (%w)", err)
	}
	return err
}

// Read returns for each event its count and 1, or 0 where the count is not known: the event is not counted, or the
// processor did not count all the time because other programs count, too. An event that was counted for some of the
// time has no count.
func (p *Process) Read(counts []uint64) {
	for i := range counts {
		counts[i] = 0
		if i < len(p.open) && p.open[i] != nil {
			counts[i] = sum(p.open[i])
		}
	}
}

// sum adds up an event's threads, and 1; 0 if one of them was not counted all the time.
func sum(fds []int) uint64 {
	total := uint64(1)
	for _, fd := range fds {
		var raw [24]byte // value, time enabled, time running
		if n, err := unix.Read(fd, raw[:]); err != nil || n != len(raw) {
			return 0
		}
		value, enabled, running := binary.NativeEndian.Uint64(raw[:]), binary.NativeEndian.Uint64(raw[8:]),
			binary.NativeEndian.Uint64(raw[16:])
		if running < enabled {
			return 0
		}
		total += value
	}
	return total
}

// Close ends the counting.
func (p *Process) Close() {
	for i := range p.open {
		closeAll(p.open[i])
		p.open[i] = nil
	}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}
