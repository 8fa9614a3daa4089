package model

// Ending is how a process ended.
type Ending struct {
	ExitStatus *int   `json:"exit_status"`      // null where a signal ended it
	Signal     string `json:"signal,omitempty"` // "SIGKILL"
	// OutOfMemory: the kernel's OOM killer chose it.
	OutOfMemory bool `json:"out_of_memory"`
	// Limit is what was used up then; null where that is not known.
	Limit *Limit `json:"limit,omitempty"`
	// Likely: the kernel did not say that it was this limit; it is the one that was used up.
	Likely bool `json:"likely,omitempty"`
	// Window is the statement, or the cell, that ran when it ended; 0 for none.
	Window int `json:"window"`
	// At is where that is; null for none.
	At *Place `json:"at,omitempty"`
	// Resident and Mapped are the most it had in its last segment, in bytes.
	Resident int64 `json:"resident"`
	Mapped   int64 `json:"mapped"`
}

// Limit is a limit of a process's memory, in bytes.
type Limit struct {
	// Kind is cgroup (of a container, a service, a user), machine, RLIMIT_DATA (what the process maps) or RLIMIT_AS (its address space).
	Kind    string `json:"kind"`
	Path    string `json:"path,omitempty"` // of the cgroup
	Bytes   int64  `json:"bytes"`
	Used    int64  `json:"used"`              // by all that it is for, when it was looked at last
	Highest int64  `json:"highest,omitempty"` // that was ever used, where the kernel keeps it
}
