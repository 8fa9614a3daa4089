package model

// Allocation is the memory of one meter that one stack of calls allocated.
type Allocation struct {
	Meter string  `json:"meter"`
	Stack []Frame `json:"stack"` // innermost first, up to the cell, or to the thread's start where no Python code called; empty for NumPy's blocks of at most 64 bytes, or where it is not known
	// StackTruncated: there were more calls further out; a stack has at most 64 of Python and 128 native ones.
	StackTruncated bool  `json:"-"`
	Allocated      int64 `json:"allocated"` // bytes, in the window
	Freed          int64 `json:"freed"`     // bytes of this stack's that were freed in the window, whoever freed them
	Net            int64 `json:"net"`       // allocated − freed
	AtPeak         int64 `json:"at_peak"`   // bytes that were there at the window's peak, whenever they were allocated
	Count          int64 `json:"count"`     // allocations in the window
	// Sampled: some of it is estimated from samples of blocks below 64 KiB.
	Sampled bool `json:"sampled,omitempty"`
}

// Frame is one call on a stack.
type Frame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"` // from 1; 0 if not known
	// Native: machine code called, not Python; Function is a demangled symbol, or "?" for calls that are not known. Module is the
	// name of its ELF file, without the directory.
	Native bool   `json:"native,omitempty"`
	Module string `json:"module,omitempty"`
	// Execution is the cell whose code this is, 0 for code of a file, and of a cell that ran before the session. ExecutionCount is the cell's In[N].
	Execution      int  `json:"execution,omitempty"`
	ExecutionCount *int `json:"execution_count,omitempty"`
	// Kernel is the name of the kernel whose cell that is, where the session has several.
	Kernel string `json:"kernel,omitempty"`
}

// InCell reports whether it is code of a cell, be it of one that ran before the session.
func (f *Frame) InCell() bool { return f.Execution > 0 || f.ExecutionCount != nil }

// Line is what one line of code allocated of one meter in a session: itself (own) and with all that it called.
type Line struct {
	PID          int    `json:"pid"`
	Meter        string `json:"meter"`
	Frame        `json:"-"`
	Allocated    int64 `json:"allocated"` // bytes
	Freed        int64 `json:"freed"`     // of these, whoever freed them
	Net          int64 `json:"net"`       // allocated − freed
	AtPeak       int64 `json:"at_peak"`   // bytes that were there at the session's peak
	OwnAllocated int64 `json:"own_allocated"`
	OwnAtPeak    int64 `json:"own_at_peak"`
	Count        int64 `json:"count"` // allocations
	Left         int64 `json:"left"`  // bytes that were there when the process's last cell was over; in the end, without cells
	// Sampled: some of it is estimated from samples of blocks below 64 KiB.
	Sampled bool `json:"sampled,omitempty"`
}

// Tensors are blocks of PyTorch's allocator of one size, made by the same calls.
type Tensors struct {
	PID   int    `json:"pid"`
	Meter string `json:"meter"`
	Size  int64  `json:"size"` // bytes of each, as the allocator rounded them up
	Count int64  `json:"count"`
	Bytes int64  `json:"bytes"`
	// Rounding is what the allocator added to what tensors asked for, in bytes, of all but Unknown of these blocks.
	Rounding int64   `json:"rounding"`
	Unknown  int64   `json:"unknown"` // blocks of which nobody said what was asked for: sessions that are not recorded, small blocks
	Stack    []Frame `json:"stack"`   // innermost first; empty where it is not known
}

// Coverage is how far allocations explain a meter's peak in a window.
type Coverage struct {
	AtPeak int64 `json:"at_peak"` // bytes of the peak that are in allocations, or unlisted
	// Unlisted are allocations that are not in the list, because there are too many; what they have at the peak, net and allocated.
	Unlisted          int   `json:"unlisted,omitempty"`
	UnlistedAtPeak    int64 `json:"unlisted_at_peak,omitempty"`
	UnlistedNet       int64 `json:"unlisted_net,omitempty"`
	UnlistedAllocated int64 `json:"unlisted_allocated,omitempty"`
	Rest              int64 `json:"rest"` // bytes that are not: made before the attach, or lost
	// Sampled: so many of AtPeak are estimated, from samples of blocks below 64 KiB. The standard error is the root of 64 KiB times that, at most.
	Sampled int64 `json:"sampled,omitempty"`
	// Exact: the blocks add up to what the window consumed and to how far it rose, to the byte, by the kernel's ledger.
	Exact bool `json:"exact"`
}

// Foreign is device memory that other processes made, as opened and closed within a window (CUDA IPC, imported
// handles). It counts where it was made.
type Foreign struct {
	Opened int `json:"opened"` // blocks
	Closed int `json:"closed"`
	Open   int `json:"open"` // on the device, after the last of these
}

// Suspended says that device memory was moved to the host within a window, or was there as it began: `tracer gpu yield`, or another tool by the
// driver's checkpoints. GPU meters of the driver fall by what is moved, and rise by it again.
type Suspended struct {
	Out   int   `json:"out"`   // how often the memory on a device went to the host
	Back  int   `json:"back"`  // how often it came back
	Bytes int64 `json:"bytes"` // the most that was moved at once, of a device
	Away  bool  `json:"away"`  // some of it was on the host as the window began
}

// Refusal is memory that was asked for and not given: failed calls of the CUDA driver, out-of-memory errors of PyTorch's
// allocator, or mmap and mremap that the kernel refused. No meter counts it.
type Refusal struct {
	Meter string `json:"meter"` // what it would have counted in
	Asked int64  `json:"asked"` // bytes; the most of all requests
	Held  int64  `json:"held"`  // bytes that the meter had at that request
	Count int    `json:"count"` // requests
	// Limit is the soft limit on what the process may map; 0 if there is none, or another meter was asked of.
	Limit int64 `json:"limit,omitempty"`
	// Caller is the function of the CUDA runtime that asked for the most; "" if none did, or it is not known.
	Caller string `json:"caller,omitempty"`
	// Stack is who asked for the most, innermost call first; empty where it is not known.
	Stack []Frame `json:"stack,omitempty"`
}

// Child is a process that the window's process started, or one of these, within a window.
type Child struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	// Meters has no meter that was exactly 0 all the time.
	Meters map[string]Figure `json:"meters"`
}
