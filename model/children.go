package model

// EndedBy is what ends a process that a kernel has started.
type EndedBy struct {
	// Calls are what to type into a cell of the kernel: "client.close()".
	Calls []string `json:"calls,omitempty"`
	// Pool is the pool in which the process waits for the next task: "multiprocessing.Pool".
	Pool string `json:"pool,omitempty"`
	// SamePIDs: the kernel gives processes the tracer's numbers; false if that is not known.
	SamePIDs bool `json:"same_pids,omitempty"`
	// Helper: it serves multiprocessing or joblib, and ends with the kernel.
	Helper bool `json:"helper,omitempty"`
}

// Own returns figures without what a forked process shares with its parent: shared, by meter. Both may be nil.
func Own(figures map[string]Figure, shared map[string]int64) map[string]Figure {
	if len(shared) == 0 {
		return figures
	}
	out := make(map[string]Figure, len(figures))
	for id, f := range figures {
		less := func(n int64) int64 { return max(0, n-shared[id]) }
		f.Start, f.Peak, f.End = less(f.Start), less(f.Peak), less(f.End)
		f.Consumed, f.Peaked = f.End-f.Start, f.Peak-max(f.Start, f.End)
		out[id] = f
	}
	return out
}

// OwnMeters returns the figures of a process without what it shares with its parent.
func (p *Process) OwnMeters() map[string]Figure { return Own(p.Meters, p.Shared) }

// OwnMeters returns the figures of a child without what it shares with its parent.
func (c *Child) OwnMeters() map[string]Figure { return Own(c.Meters, c.Shared) }
