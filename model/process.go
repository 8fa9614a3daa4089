package model

// Process is one traced process over its whole traced life.
type Process struct {
	PID      int    `json:"pid"`
	Parent   int    `json:"parent"` // 0 for an attached process
	Command  string `json:"command"`
	Python   string `json:"python,omitempty"`
	IPython  string `json:"ipython,omitempty"`
	Frontend string `json:"frontend,omitempty"`
	// Notebook is the path of a kernel's notebook, by the kernel itself; "" if it has none.
	Notebook string `json:"notebook,omitempty"`
	// Kernel is the name of a kernel if the session has several: "train.ipynb", "b/train.ipynb", "pid 4242".
	Kernel  string `json:"kernel,omitempty"`
	StartNS int64  `json:"start_ns"` // since the session began
	EndNS   int64  `json:"end_ns"`   // its end, or the session's
	Ended   bool   `json:"ended"`
	// Ending says how it ended; null while it runs, and if that is not known.
	Ending *Ending `json:"ending,omitempty"`
	// Limits are the limits on its memory, the nearest first; only attached processes have them.
	Limits []Limit `json:"limits,omitempty"`
	// Late: it ran before the session began.
	Late bool `json:"late"`
	// RestartOf is the pid of the kernel that this one replaced after a restart, 0 for none.
	RestartOf int `json:"restart_of,omitempty"`
	// SoftLimit is the soft limit on its mapped memory, nil for none.
	SoftLimit *SoftLimit        `json:"soft_limit,omitempty"`
	Meters    map[string]Figure `json:"meters"`
	// Shared is how much of a meter a forked process still has from its parent at the end, at most.
	Shared map[string]int64 `json:"shared,omitempty"`
	// EndedBy is what ends it, if it was started by a kernel and still runs.
	EndedBy *EndedBy `json:"ended_by,omitempty"`
}

// SoftLimit is a soft limit on mapped memory (RLIMIT_DATA): requests beyond it fail, with MemoryError.
type SoftLimit struct {
	Bytes int64 `json:"bytes"`
	// ^By is its origin: "session" (--limit), "command" (tracer limit), "left" (a tracer that was killed, or another
	// that runs) or "other".
	By string `json:"by"`
}

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

// OwnMeters returns the figures of a process without what it shares with its parent.
func (p *Process) OwnMeters() map[string]Figure { return Own(p.Meters, p.Shared) }
