package model

// Allocation is the memory of one meter that one stack of calls allocated.
type Allocation struct {
	Meter string `json:"meter"`
	// Stack has the innermost call first, up to the cell, or up to the thread's start if no Python code called. It is
	// empty if it is not known, and for NumPy's blocks of at most 64 bytes.
	Stack []Frame `json:"stack"`
	// StackTruncated: outer calls are missing. A stack has at most 64 calls of Python and 128 native ones.
	StackTruncated bool  `json:"-"`
	Allocated      int64 `json:"allocated"` // bytes, in the window
	Freed          int64 `json:"freed"`     // bytes of this stack that were freed in the window, by any code
	Net            int64 `json:"net"`       // allocated − freed
	AtPeak         int64 `json:"at_peak"`   // bytes that lived at the window's peak, whenever they were allocated
	Count          int64 `json:"count"`     // allocations in the window
	// Sampled: a part of it is estimated from samples of blocks below 64 KiB.
	Sampled bool `json:"sampled,omitempty"`
}

// Line is the memory of one meter that one line of code allocated in a session: by itself (own), and with all calls
// that it made.
type Line struct {
	PID          int    `json:"pid"`
	Meter        string `json:"meter"`
	Frame        `json:"-"`
	Allocated    int64 `json:"allocated"` // bytes
	Freed        int64 `json:"freed"`     // bytes of these that were freed, by any code
	Net          int64 `json:"net"`       // allocated − freed
	AtPeak       int64 `json:"at_peak"`   // bytes that lived at the session's peak
	OwnAllocated int64 `json:"own_allocated"`
	OwnAtPeak    int64 `json:"own_at_peak"`
	Count        int64 `json:"count"` // allocations
	Left         int64 `json:"left"`  // bytes that lived after the process's last cell; at the end, without cells
	// Outer is the part of Left for which no other line of a cell made the call. For a line in a function this is
	// memory of threads, tasks and callbacks.
	Outer int64 `json:"outer,omitempty"`
	// Held has the parts of Left that are freed when names are deleted, the largest first, at most 16; nil if that is
	// not known.
	Held []HeldPart `json:"held,omitzero"`
	// Lost is the part of Left in cycles that the garbage collector cannot free. Breaks is a line that breaks such a
	// cycle while a name refers to it; "" if no such line is known. Both are known only if holders are: see [Held].
	Lost   int64  `json:"lost,omitempty"`
	Breaks string `json:"breaks,omitempty"`
	// Sampled: a part of it is estimated from samples of blocks below 64 KiB.
	Sampled bool `json:"sampled,omitempty"`
}

// HeldPart is memory that some names hold together, and that nothing else holds.
type HeldPart struct {
	Names []string `json:"names"` // by [Variable.Name]
	Bytes int64    `json:"bytes"`
	// Waits: garbage that waits for the collector also holds the memory, or only garbage holds it.
	Waits bool `json:"waits,omitempty"`
}

// Tensors are blocks of PyTorch's allocator with equal sizes and stacks.
type Tensors struct {
	PID   int    `json:"pid"`
	Meter string `json:"meter"`
	Size  int64  `json:"size"` // bytes of each, rounded up by the allocator
	Count int64  `json:"count"`
	Bytes int64  `json:"bytes"`
	// Rounding is by how many bytes the blocks are larger than the requests of their tensors. It leaves out the blocks
	// that Unknown counts.
	Rounding int64 `json:"rounding"`
	// Unknown counts blocks whose request is not known: in sessions that are not recorded, and small blocks.
	Unknown int64   `json:"unknown"`
	Stack   []Frame `json:"stack"` // innermost call first; empty if not known
}

// Copied are pages that a process has copied since a fork, of what one stack made. It is estimated from samples.
type Copied struct {
	PID   int     `json:"pid"` // of the process that wrote to them
	Bytes int64   `json:"bytes"`
	Stack []Frame `json:"stack"` // that made them, innermost call first; empty if not known
}

// Coverage is the part of a meter's peak in a window that its allocations explain.
type Coverage struct {
	AtPeak int64 `json:"at_peak"` // bytes of the peak that are in allocations, or unlisted
	// Unlisted is the number of allocations that are not in the list, because there are too many. The next three fields
	// are their sums.
	Unlisted          int   `json:"unlisted,omitempty"`
	UnlistedAtPeak    int64 `json:"unlisted_at_peak,omitempty"`
	UnlistedNet       int64 `json:"unlisted_net,omitempty"`
	UnlistedAllocated int64 `json:"unlisted_allocated,omitempty"`
	Rest              int64 `json:"rest"` // bytes without an allocation: made before the attach, or lost
	// Sampled is the part of AtPeak that is estimated from samples of blocks below 64 KiB. Its standard error is at
	// most SampledError.
	Sampled      int64 `json:"sampled,omitempty"`
	SampledError int64 `json:"sampled_error,omitempty"`
	// Exact: the blocks add up, to the byte, to the window's consumption and rise by the kernel's ledger.
	Exact bool `json:"exact"`
}

// Foreign counts device memory of other processes that was opened and closed within a window (CUDA IPC, imported
// handles). The memory counts in the process that allocated it.
type Foreign struct {
	Opened int `json:"opened"` // blocks
	Closed int `json:"closed"`
	Open   int `json:"open"` // blocks open on the device, after the last of these
}

// Suspended says that device memory was moved to the host within a window, or was there when the window began, because
// of `tracer gpu yield` or another tool that uses the driver's checkpoints. The meters of the GPU's driver fall by the
// moved bytes, and later rise by them again.
type Suspended struct {
	Out   int   `json:"out"`   // number of times that a device's memory went to the host
	Back  int   `json:"back"`  // number of times that it came back
	Bytes int64 `json:"bytes"` // largest single move of one device
	Away  bool  `json:"away"`  // some of it was on the host at the beginning of the window
}

// Refusal is a refused request for memory: failed calls of the CUDA driver, out-of-memory errors of PyTorch's
// allocator, or mmap and mremap that the kernel refused. No meter counts it.
type Refusal struct {
	Meter string `json:"meter"` // the meter that would have counted it
	Asked int64  `json:"asked"` // bytes of the largest request
	Held  int64  `json:"held"`  // bytes of the meter at that request
	Count int    `json:"count"` // requests
	// Reserved is what PyTorch's allocator held of the GPU at the largest request; 0 for other meters, or if it is not
	// known.
	Reserved int64 `json:"reserved,omitempty"`
	// Limit is the soft limit on mapped memory; 0 if there is none, and for other meters.
	Limit int64 `json:"limit,omitempty"`
	// Caller is the function of the CUDA runtime that made the largest request; "" if there was none, or if it is not
	// known.
	Caller string `json:"caller,omitempty"`
	// Stack is the stack of the largest request, innermost call first; empty if it is not known.
	Stack []Frame `json:"stack,omitempty"`
	// Dividers are live blocks of PyTorch's cache at the largest request. Without one of them, the request would have
	// fitted into the cache. The smallest comes first, each has another stack, and there are at most eight. There are
	// none if the session's records do not add up to the allocator's own figures.
	Dividers []Divider `json:"dividers,omitempty"`
}

// Divider is a live block of PyTorch's cache between free memory of the same segment. Without the block, the free
// memory would be one piece.
type Divider struct {
	Bytes  int64 `json:"bytes"`
	Before int64 `json:"before"` // free bytes in front of it, up to the next live block
	After  int64 `json:"after"`  // free bytes behind it
	// Stack allocated the block, innermost call first.
	Stack []Frame `json:"stack"`
}

// Child is a descendant of the window's process, within a window.
type Child struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	// Meters leaves out meters that were 0 all the time.
	Meters map[string]Figure `json:"meters"`
	// Shared is the most that the child can have of a meter from its parent at the end, if it was forked and executes
	// no other program.
	Shared map[string]int64 `json:"shared,omitempty"`
}

// OwnMeters returns the figures of a child without what it shares with its parent.
func (c *Child) OwnMeters() map[string]Figure { return Own(c.Meters, c.Shared) }
