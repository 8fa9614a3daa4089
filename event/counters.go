package event

import "math"

// Counter names one count of a process's activity.
type Counter uint8

// The counters. Those of the kernel come first: it reads them at the boundary itself. The tracer reads those of the
// processor when the boundary's record arrives, a moment later.
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

	// KernelCounters is the number of the kernel's counters.
	KernelCounters = Instructions
)

var counterNames = [CounterCount]string{
	"minor_faults", "major_faults", "waits", "preemptions", "instructions", "cycles", "cache_references",
	"cache_misses",
}

// String returns the counter's name, as reports and recordings have it.
func (c Counter) String() string { return counterNames[c] }

// Counters has each count of all threads of a process at an instant, plus one; 0 if it is not known.
type Counters [CounterCount]uint64

// Since returns the count since earlier, −1 if it is not known. Two threads that count at the same time can make a
// later value slightly lower: the result is 0 then.
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
