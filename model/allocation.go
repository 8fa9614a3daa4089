package model

// Allocation is the memory of one meter that one stack of calls allocated.
type Allocation struct {
	Meter string `json:"meter"`
	// Stack has the innermost call first, up to the cell, or to the thread's start where no Python code called. It is
	// empty for NumPy's blocks of at most 64 bytes, or where it is not known.
	Stack []Frame `json:"stack"`
	// StackTruncated: there were more calls further out; a stack has at most 64 of Python and 128 native ones.
	StackTruncated bool  `json:"-"`
	Allocated      int64 `json:"allocated"` // bytes, in the window
	Freed          int64 `json:"freed"`     // bytes of this stack that were freed in the window, by any code
	Net            int64 `json:"net"`       // allocated − freed
	AtPeak         int64 `json:"at_peak"`   // bytes that lived at the window's peak, whenever they were allocated
	Count          int64 `json:"count"`     // allocations in the window
	// Sampled: a part of it is estimated from samples of blocks below 64 KiB.
	Sampled bool `json:"sampled,omitempty"`
}

// Line is the memory of one meter that one line of code allocated in a session: itself (own) and with all calls below
// it.
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
	// Outer is the part of Left that no other line of a cell called: of a line in a function it is memory of threads,
	// tasks and callbacks.
	Outer int64 `json:"outer,omitempty"`
	// Held has the parts of Left that go when names let go of them, the largest first, 16 at most; nil where that is
	// not known.
	Held []HeldPart `json:"held,omitzero"`
	// Lost is the part of Left in cycles that the garbage collector does not see, and Breaks a line that breaks such a
	// cycle while a name has it; "" where none is known. Both are known where holders are: see [Held].
	Lost   int64  `json:"lost,omitempty"`
	Breaks string `json:"breaks,omitempty"`
	// Sampled: a part of it is estimated from samples of blocks below 64 KiB.
	Sampled bool `json:"sampled,omitempty"`
}

// HeldPart is memory that some names hold together, and nothing else does.
type HeldPart struct {
	Names []string `json:"names"` // by [Variable.Name]
	Bytes int64    `json:"bytes"`
	// Waits: garbage has it as well, or alone, until the collector runs.
	Waits bool `json:"waits,omitempty"`
}

// Tensors are blocks of PyTorch's allocator with the same size and the same stack.
type Tensors struct {
	PID   int    `json:"pid"`
	Meter string `json:"meter"`
	Size  int64  `json:"size"` // bytes of each, rounded up by the allocator
	Count int64  `json:"count"`
	Bytes int64  `json:"bytes"`
	// Rounding is the difference, in bytes, between the blocks and the requests of their tensors, for all but Unknown
	// of these blocks.
	Rounding int64 `json:"rounding"`
	// Unknown counts blocks with an unknown request: in sessions that are not recorded, or small blocks.
	Unknown int64   `json:"unknown"`
	Stack   []Frame `json:"stack"` // innermost call first; empty if not known
}

// Coverage is the part of a meter's peak in a window that its allocations explain.
type Coverage struct {
	AtPeak int64 `json:"at_peak"` // bytes of the peak that are in allocations, or unlisted
	// Unlisted is the number of allocations that are left out of the list, because there are too many. The figures
	// below are their sums.
	Unlisted          int   `json:"unlisted,omitempty"`
	UnlistedAtPeak    int64 `json:"unlisted_at_peak,omitempty"`
	UnlistedNet       int64 `json:"unlisted_net,omitempty"`
	UnlistedAllocated int64 `json:"unlisted_allocated,omitempty"`
	Rest              int64 `json:"rest"` // bytes without an allocation: made before the attach, or lost
	// Sampled is the part of AtPeak that is estimated from samples of blocks below 64 KiB. Its standard error is at
	// most the root of 64 KiB times Sampled.
	Sampled int64 `json:"sampled,omitempty"`
	// Exact: the blocks add up to the window's consumption and to its rise, to the byte, by the kernel's ledger.
	Exact bool `json:"exact"`
}

// Foreign counts device memory of other processes that was opened and closed within a window (CUDA IPC, imported
// handles). The memory counts in the process that allocated it.
type Foreign struct {
	Opened int `json:"opened"` // blocks
	Closed int `json:"closed"`
	Open   int `json:"open"` // blocks open on the device, after the last of these
}

// Suspended says that device memory was moved to the host within a window, or was there at its beginning: by `tracer
// gpu yield`, or another tool that uses the driver's checkpoints. The driver's GPU meters fall by the moved bytes, and
// rise by them again.
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
	// Reserved is what PyTorch's allocator held of the GPU at that request; 0 for other meters, or if it is not known.
	Reserved int64 `json:"reserved,omitempty"`
	// Limit is the soft limit on mapped memory; 0 if there is none, or for another meter.
	Limit int64 `json:"limit,omitempty"`
	// Caller is the function of the CUDA runtime with the largest request; "" if there was none, or it is not known.
	Caller string `json:"caller,omitempty"`
	// Stack made the largest request, innermost call first; empty if not known.
	Stack []Frame `json:"stack,omitempty"`
	// Dividers are live blocks of PyTorch's cache at that request: without one of them the request would have fitted
	// into the cache. The smallest comes first, each has another stack, and there are eight at most. There are none
	// where the session's records do not add up to the allocator's own figures.
	Dividers []Divider `json:"dividers,omitempty"`
}

// Divider is a live block of PyTorch's cache between free memory of the same segment. If it were free, all of that
// would be one piece.
type Divider struct {
	Bytes  int64 `json:"bytes"`
	Before int64 `json:"before"` // free bytes in front of it, up to the next live block
	After  int64 `json:"after"`  // free bytes behind it
	// Stack allocated it, innermost call first.
	Stack []Frame `json:"stack"`
}

// Child is a descendant of the window's process, within a window.
type Child struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	// Meters leaves out meters that were exactly 0 all the time.
	Meters map[string]Figure `json:"meters"`
	// Shared is how much of a meter it has from its parent, at most, if it was forked and executes no other program.
	Shared map[string]int64 `json:"shared,omitempty"`
}

// OwnMeters returns the figures of a child without what it shares with its parent.
func (c *Child) OwnMeters() map[string]Figure { return Own(c.Meters, c.Shared) }
