package model

import "slices"

// Counters are what all threads of a process did in a window; −1 is not known. What the processor counts is read when the record of the
// boundary has reached the tracer, a moment later: of statements it is not known.
type Counters struct {
	MinorFaults     int64 `json:"minor_faults"` // pages mapped without reading a disk
	MajorFaults     int64 `json:"major_faults"` // pages read from one
	Waits           int64 `json:"waits"`        // how often a thread gave its CPU up
	Preemptions     int64 `json:"preemptions"`  // how often one was taken off it
	Instructions    int64 `json:"instructions"`
	Cycles          int64 `json:"cycles"`
	CacheReferences int64 `json:"cache_references"`
	CacheMisses     int64 `json:"cache_misses"`
}

// Counted is one of [Counters] by its name.
type Counted struct {
	Name  string
	Count int64
}

// All are the counters in the order in which they are shown, by the names that JSON has.
func (c *Counters) All() []Counted {
	return []Counted{
		{"minor_faults", c.MinorFaults}, {"major_faults", c.MajorFaults}, {"waits", c.Waits}, {"preemptions", c.Preemptions},
		{"instructions", c.Instructions}, {"cycles", c.Cycles}, {"cache_references", c.CacheReferences}, {"cache_misses", c.CacheMisses},
	}
}

// Counts says whether any window has counters.
func (r *Report) Counts() bool {
	return r.Counted || slices.ContainsFunc(r.Windows, func(w Window) bool { return w.Counters != nil })
}
