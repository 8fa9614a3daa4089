// Package processor counts the work of processors for a process with perf events. It counts instructions, cycles, cache
// references and misses. It also raises a program's priority for a while ([Priority]). Package attribution divides the
// counts among windows. The kernel half reads the events that Linux counts itself, such as page faults and switches.
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

// Event is an event that can be counted, with the numbers of perf_event_open(2).
type Event struct {
	Name   string
	Type   uint32
	Config uint64
}

// Processor are the events that processors count, in the order of event.Counter.
var Processor = []Event{
	{"instructions", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS},
	{"cycles", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES},
	{"cache references", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_REFERENCES},
	{"cache misses", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_MISSES},
}

// Limits for opening events.
const (
	maxThreads = 256 // of a process at the beginning; each needs a descriptor for each event
	attempts   = 20  // if threads begin or end meanwhile
)

// ErrNoCounter is the error if the processor, or the virtual machine, has no counter for an event.
var ErrNoCounter = errors.New("this machine has no such counter (in a virtual machine: " +
	"its processor's are not passed on)")

// Process counts events of a process: of all its threads, also of later ones, but not of its children.
type Process struct {
	open [][]int // for each event, a descriptor for each thread; nil if the event is not counted
}

// Missing are the events that cannot be counted for the same reason.
type Missing struct {
	Events []string
	Why    error
}

// Open begins to count. Events that cannot be counted are in missing.
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

// openAll opens an event on every thread. A thread that begins meanwhile may have inherited the event or not. Therefore
// openAll starts again until no thread has begun or ended meanwhile, so that each thread is counted exactly once.
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

// threadsOf returns the ids of a process's threads in ascending order. It fails if there are more than maxThreads.
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

// inheritThread is a bit of struct perf_event_attr (include/uapi/linux/perf_event.h): new threads inherit an event, and
// child processes do not.
const inheritThread = 1 << 35

// openOn opens an event on threads. It leaves out threads that have ended.
func openOn(threads []int, e Event) (fds []int, err error) {
	attr := unix.PerfEventAttr{
		Type: e.Type, Config: e.Config, Size: unix.PERF_ATTR_SIZE_VER5, Bits: unix.PerfBitInherit | inheritThread,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
	}
	for _, tid := range threads {
		fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if errors.Is(err, unix.ESRCH) {
			continue // the thread has ended, so openAll will find another list of threads
		}
		if err != nil {
			closeAll(fds)
			return nil, reason(err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// reason turns an error of perf_event_open(2) into one that tells users why an event is not counted.
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

// Read sets counts to each event's count plus 1, or to 0 if the count is not known. It is not known if the event is not
// counted, or if the processor did not count it all the time because other programs count events, too.
func (p *Process) Read(counts []uint64) {
	for i := range counts {
		counts[i] = 0
		if i < len(p.open) && p.open[i] != nil {
			counts[i] = sum(p.open[i])
		}
	}
}

// sum returns the sum of an event's counts of all threads plus 1, or 0 if a thread was not counted all the time.
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
