package model

// Ending says how a process ended.
type Ending struct {
	ExitStatus *int   `json:"exit_status"`      // null if a signal ended it
	Signal     string `json:"signal,omitempty"` // "SIGKILL"
	// OutOfMemory: the kernel's OOM killer chose it.
	OutOfMemory bool `json:"out_of_memory"`
	// Limit is the exhausted limit; null if not known.
	Limit *Limit `json:"limit,omitempty"`
	// Likely: the kernel did not name the limit; it is the one that was used up.
	Likely bool `json:"likely,omitempty"`
	// Window is the statement, or the cell, that ran at the end; 0 for none.
	Window int `json:"window"`
	// At is the place of that window; null for none.
	At *Place `json:"at,omitempty"`
	// Resident and Mapped are its maxima in its last segment, in bytes.
	Resident int64 `json:"resident"`
	Mapped   int64 `json:"mapped"`
}

// Limit is a limit of a process's memory, in bytes.
type Limit struct {
	// Kind is cgroup (of a container, a service, a user), machine, RLIMIT_DATA (mapped memory) or RLIMIT_AS (the
	// address space).
	Kind    string `json:"kind"`
	Path    string `json:"path,omitempty"` // of the cgroup
	Bytes   int64  `json:"bytes"`
	Used    int64  `json:"used"`              // by everything under the limit, at the last reading
	Highest int64  `json:"highest,omitempty"` // the highest use ever, if the kernel keeps it
}
