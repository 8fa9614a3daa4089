package model

// Counters are the counts of all threads of a process in a window; −1 is not known. The tracer reads the processor's
// counters when the record of the boundary arrives, a moment later: statements have none of these.
type Counters struct {
	MinorFaults     int64 `json:"minor_faults"` // pages mapped without reading a disk
	MajorFaults     int64 `json:"major_faults"` // pages read from one
	Waits           int64 `json:"waits"`        // number of times that a thread gave up its CPU
	Preemptions     int64 `json:"preemptions"`  // number of times that a thread was taken off its CPU
	Instructions    int64 `json:"instructions"`
	Cycles          int64 `json:"cycles"`
	CacheReferences int64 `json:"cache_references"`
	CacheMisses     int64 `json:"cache_misses"`
}

// Counted is one of the [Counters], with its name.
type Counted struct {
	Name  string
	Count int64
}

// All returns the counters in the order in which reports show them, with their names in JSON.
func (c *Counters) All() []Counted {
	return []Counted{
		{"minor_faults", c.MinorFaults}, {"major_faults", c.MajorFaults}, {"waits", c.Waits},
		{"preemptions", c.Preemptions}, {"instructions", c.Instructions}, {"cycles", c.Cycles},
		{"cache_references", c.CacheReferences}, {"cache_misses", c.CacheMisses},
	}
}
