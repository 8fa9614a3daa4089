package event

import "math"

// Counter is something that is counted of what a process does.
type Counter uint8

// The counters. Those of the kernel come first: it reads them at the boundary itself. The processor's are read when the boundary's record has
// reached the tracer, a moment later.
const (
	MinorFaults Counter = iota // pages that were mapped without reading a disk
	MajorFaults                // pages that had to be read from one
	Waits                      // a thread gave its CPU up, to wait
	Preemptions                // a thread was taken off its CPU
	Instructions
	Cycles
	CacheReferences
	CacheMisses
	CounterCount

	// KernelCounters is how many of them are the kernel's.
	KernelCounters = Instructions
)

var counterNames = [CounterCount]string{"minor_faults", "major_faults", "waits", "preemptions", "instructions", "cycles", "cache_references", "cache_misses"}

// String is the counter's name, as reports and recordings have it.
func (c Counter) String() string { return counterNames[c] }

// Counters are how much of each all threads of a process had counted by an instant, and one more; 0 if that is not known.
type Counters [CounterCount]uint64

// Since is how much has been counted since earlier, −1 if it is not known. What two threads counted at the same time can make a later count the
// lower one by a little: that is 0.
func (c *Counters) Since(earlier *Counters, of Counter) int64 {
	switch {
	case c[of] == 0 || earlier[of] == 0:
		return -1
	case c[of] < earlier[of]:
		return 0
	case c[of]-earlier[of] > math.MaxInt64: // of a recording that nobody made
		return -1
	}
	return int64(c[of] - earlier[of])
}
