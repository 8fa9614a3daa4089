package model

// Ending says how a process ended.
type Ending struct {
	ExitStatus *int   `json:"exit_status"`      // null if a signal ended it
	Signal     string `json:"signal,omitempty"` // "SIGKILL"
	// OutOfMemory: Linux's OOM killer chose the process.
	OutOfMemory bool `json:"out_of_memory"`
	// Limit is the limit that the process reached; null if it is not known.
	Limit *Limit `json:"limit,omitempty"`
	// Likely: Limit is a guess, because it was used up. Linux did not name the limit.
	Likely bool `json:"likely,omitempty"`
	// Window is the id of the statement, or the cell, that was running at the end; 0 if there was none.
	Window int `json:"window"`
	// At is the place of that window; null for none.
	At *Place `json:"at,omitempty"`
	// Resident and Mapped are the meters' maxima in the process's last segment, in bytes.
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

// IsNotable reports whether a process did not end by itself, and was not shut down. It is false for nil.
func (e *Ending) IsNotable(ipython string) bool {
	return e != nil && (e.OutOfMemory || e.Signal != "" && !e.IsShutDown(ipython))
}

// IsShutDown reports whether a kernel got a signal that asks for an end while no cell ran: Jupyter's servers, nbclient
// and ipykernel end unneeded kernels in this way.
func (e *Ending) IsShutDown(ipython string) bool {
	switch e.Signal {
	case "SIGTERM", "SIGINT", "SIGHUP":
		return ipython != "" && e.Window == 0 && !e.OutOfMemory
	}
	return false
}
