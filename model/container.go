package model

// Container has the memory of a process's container in a window, in bytes: all that Linux charges to its memory cgroup,
// also for other processes. Of the process's cgroup and those around it, it is the one with the least limit; without a
// limit, the process's own.
type Container struct {
	// AtLeast and Highest bound the highest use within the window. Highest is absent if no upper bound is known.
	AtLeast int64 `json:"at_least"`
	Highest int64 `json:"highest,omitempty"`
	// Exact: both are Linux's own figure, because the container never had as much before the window.
	Exact bool `json:"exact"`
	// Bound is how far Linux's figures can be off: for each CPU it charges some pages in advance.
	Bound int64 `json:"bound"`
	Limit int64 `json:"limit,omitempty"` // absent: none
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	// Parts divide the use at the window's end, not at its highest moment; absent if not read.
	Parts *ContainerParts `json:"parts,omitempty"`
}

// ContainerParts divide the memory of a container, in bytes.
type ContainerParts struct {
	Anon   int64 `json:"anon"`   // anonymous memory
	File   int64 `json:"file"`   // page cache, which Linux can drop once it is written back
	Shmem  int64 `json:"shmem"`  // tmpfs and shared memory
	Kernel int64 `json:"kernel"` // Linux's own
}
