package event

import "math"

// Counter names one count of a process's activity.
type Counter uint8

// The counters. The kernel half reads its counters at the boundary itself. The tracer reads the processor's counters a
// moment later, when the boundary's record arrives.
const (
	MinorFaults Counter = iota // pages mapped without reading a disk
	MajorFaults                // pages read from a disk
	Waits                      // a thread gave up its CPU, to wait
	Preemptions                // a thread was taken off its CPU
	Instructions
	Cycles
	CacheReferences
	CacheMisses
	CounterCount

	// KernelCounters is the number of counters that the kernel half reads; they come first.
	KernelCounters = Instructions
)

var counterNames = [CounterCount]string{
	"minor_faults", "major_faults", "waits", "preemptions", "instructions", "cycles", "cache_references",
	"cache_misses",
}

// String returns the counter's name in reports and recordings.
func (c Counter) String() string { return counterNames[c] }

// Counters has the counts of all threads of a process at an instant. Each is one more than the count; 0 stands for a
// count that is not known.
type Counters [CounterCount]uint64

// Since returns by how much a count rose since earlier; −1 if that is not known. If two threads count at the same time,
// the later value can be slightly lower: Since returns 0 then.
func (c *Counters) Since(earlier *Counters, of Counter) int64 {
	switch {
	case c[of] == 0 || earlier[of] == 0:
		return -1
	case c[of] < earlier[of]:
		return 0
	case c[of]-earlier[of] > math.MaxInt64: // only in a made-up recording
		return -1
	}
	return int64(c[of] - earlier[of])
}
