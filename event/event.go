// Package event is the vocabulary of ipytracer: the records of the kernel ledger as Go types, and the one table of
// meters. It is a leaf that imports nothing of ipytracer; what follows from events is computed elsewhere.
//
// Two kinds of record matter. A [Boundary] marks an instant at which some window opened or closed and
// carries, for the process that acted and for its whole tree, every meter's value at that instant and its
// maximum since the boundary before. Boundaries are never lost. A [Change] says that one meter took one
// value; changes may be lost, and are counted, so they prove peaks but never decide them.
package event

import "context"

// Bytes is a size in bytes. It is signed because differences are as common as sizes.
type Bytes int64

// Nanoseconds is an instant of CLOCK_MONOTONIC or a length of time, in nanoseconds.
type Nanoseconds int64

// Readings holds one value for each meter.
type Readings [MeterCount]Bytes

// BoundaryKind says what happened at a boundary; of a MeterSettled see [Boundary.Unsure].
type BoundaryKind uint8

var boundaryNames = [...]string{
	"none", "attached", "detached", "cell-open", "cell-close", "statement-open", "statement-close",
	"experiment-begin", "experiment-end", "process-start", "process-exec", "process-exit", "meter-shed", "meter-back",
	"cell-result",
	"meter-settled", "line", "asked",
}

// String returns the name a recording uses for the kind, such as "cell-open".
func (k BoundaryKind) String() string {
	if int(k) < len(boundaryNames) {
		return boundaryNames[k]
	}
	return "unknown"
}

// ParseBoundaryKind is the inverse of [BoundaryKind.String]; ok is false for a name it does not know.
func ParseBoundaryKind(name string) (kind BoundaryKind, ok bool) {
	for i, n := range boundaryNames {
		if n == name {
			return BoundaryKind(i), true
		}
	}
	return BoundaryNone, false
}

// Outcome says how a cell or a statement ended.
type Outcome uint8

// Event is anything a [Source] hands out: *[Start], *[Process], *[Boundary], *[Reading], *[Change], *[Refusal], *[Foreign],
// *[CellSource], *[Stack], *[Holders], *[Variables],
// *[Residence], *[Limits], *[Ending], *[Lull], *[Settled] or *[Finish].
type Event interface{ isEvent() }

// Source yields events in the order windows are to see them. Next returns io.EOF after the last one. The live
// rings and a recording are both Sources, so nothing behind this interface can tell them apart.
type Source interface {
	Next(ctx context.Context) (Event, error)
}

// InputsElsewhere says that a cell's shell has an In of its own, which is not the one known (IPython.embed()).
const InputsElsewhere = -2

// Boundary is one instant at which a window opened or closed, or the set of processes changed.
type Boundary struct {
	Number uint64 // 1, 2, 3 … over all roots, without gaps
	Time   Nanoseconds
	Kind   BoundaryKind
	Root   uint32 // the attached process whose tree this belongs to, numbered from 0
	PID    int32  // the process that acted, as the tracer's pid namespace numbers it
	TID    int32
	Parent int32 // ProcessStart: the pid that forked

	Cell     uint64 // the kernel's number of the cell window; 0 where no cell is meant
	Outer    uint64 // CellOpen: the cell in which this one is nested, or 0
	Segment  uint64 // the segment of Root that ends here
	Stream   uint64 // changes made for Root up to here, delivered or not
	Inputs   int64  // CellOpen: len(In), -1 if it is not known, or [InputsElsewhere]; if Late one more than the cell's number, or -1
	Late     bool   // CellOpen: it ran already when the process was attached to
	Line     int32  // StatementOpen: line in the cell, from 1; 0 if not known
	Outcome  Outcome
	CPUTime  Nanoseconds         // that all threads of the process had used by then; 0 if not known
	Counters Counters            // what they had counted by then, where that is asked for
	Frees                        // of what was not seen to be made, in Root's tree, so far
	Unsure   [UnknownKinds]Bytes // how far meters can be off in Root's tree, since they were stepped down
	Doubts                       // what Root's tree lost or had to guess, so far
	Value    Readings            // of PID, at this instant
	High     Readings            // of PID, maximum since the boundary before
	Tree     Readings            // of Root's tree, at this instant; what a forked child shares with its parent counts once
	TreeHigh Readings            // of Root's tree, maximum since the boundary before
	// Text is, of CellOpen, the cell's file name; of CellResult and CellClose with OutcomeError the type of the exception, "" where it is not
	// known; of markers the experiment's name; of ProcessExec the command; of Line the number of the descriptor that the companion means.
	Text string
}

// Reading is what a boundary says of another process of the same tree, whose meters moved in the segment.
type Reading struct {
	Number uint64 // of the boundary it belongs to; it follows that boundary, but for what other CPUs say in between
	Root   uint32
	PID    int32
	// Since is the first segment that High is of. The process may have drawn a boundary of its own meanwhile, which ended the segment before it,
	// though it was to be drawn later. 0: that is not told (recordings until 2026), and Root is the boundary's.
	Since uint64
	Value Readings
	High  Readings
}

// Change is one value one meter took.
type Change struct {
	Stream  uint64 // 1, 2, 3 … within Root; a gap is a loss
	Segment uint64 // the segment of Root in which it fell
	Time    Nanoseconds
	Root    uint32
	PID     int32
	TID     int32
	Meter   Meter
	Value   Bytes  // the meter's value; for Resident the value from which it fell
	Size    Bytes  // NumPy, tensors on the CPU, driver, pinned, blocks: the block's size, negative when it was freed
	Address uint64 // of the block
	Caller  Caller // driver, pinned
	Stack   uint64 // who allocated: the number of a [Stack], 0 if not known; one that was lost has no event
	// Block: PyTorch's total of active memory or the heap changed by the block at Address of Size; else only the total is meant.
	// Mapped: all of the range [Address, Address + |Size|) is mapped from now on, or nothing of it; parts of it may have been before.
	// Driver: PyTorch's allocator asked for it from a pool of the driver's (cudaMallocAsync), and does not report it.
	// Reserved: it rose by Size, by blocks that the driver gave the same thread since PyTorch's last report.
	Block bool
	// Passed is how many boundaries, at most, were drawn just then: the change belongs to its segment or to one of so many behind it.
	Passed uint8
	// Collected: it was freed while Python's garbage collector ran.
	Collected bool
	// Sample: the block was told as a sample. It stands for [SampleOf] bytes of blocks as large as it; Size is its own.
	Sample bool
	// Unchained: blocks that were not told may have moved the meter since the change before, so no change leads from one value to the next.
	Unchained bool
	// Found: a search has found out that the block came, or went, while its meter was stepped down. It belongs to no
	// window that opened since then.
	Found bool
	// Learned: the meter was not known before (PyTorch's totals after a late attach); Value is what it has been all along.
	Learned bool
}

// Refusal is a request for memory that was refused: a failed call of the CUDA driver, or an out-of-memory error of
// PyTorch's allocator. No meter moved.
type Refusal struct {
	Stream  uint64 // numbered with the changes
	Segment uint64
	Time    Nanoseconds
	Root    uint32
	PID     int32
	TID     int32
	Meter   Meter
	Asked   Bytes
	Held    Bytes // the meter's value then
	Caller  Caller
	Stack   uint64 // as in [Change]
	Detail  uint64 // driver: the CUresult; PyTorch: what it had reserved, in bytes
}

// Foreign says that a process opened or closed device memory that another process had made (CUDA IPC, imported handles).
// It counts in the process that made it; no meter of this one moved.
type Foreign struct {
	Stream  uint64 // numbered with the changes
	Segment uint64
	Time    Nanoseconds
	Root    uint32
	PID     int32
	TID     int32
	Meter   Meter // the driver's of the device
	Open    int64 // blocks that are open now
	Closed  bool  // one was closed, else opened
	Address uint64
}

// Lull says that nothing more was there to be read just then: the boundary before it has all the readings that it will have. A live session adds one
// where it has read everything, so that what takes its events in needs no clock, and a recording of them leads to the same.
type Lull struct{}

// CellSource is the text of a cell as it was typed; as IPython compiles it where that could not be read.
type CellSource struct {
	Cell      uint64
	PID       int32
	Text      string // hostile, as everything that came out of a target
	Truncated bool
}

// Frame is one call on a stack.
type Frame struct {
	Function string // co_qualname, co_name before Python 3.11; native: see Module
	File     string // co_filename; native: from DWARF, else ""
	Line     int32  // from 1; 0 if not known
	// Input is N of In[N], if this is the code of a cell that had run before it could be seen to; 0 for all other code.
	Input int32
	// Native: machine code called, not Python. Function is its symbol, demangled and without parameters; "libx.so+0x12ab", with the
	// address in the file, where no symbol covers it; "?" stands for calls that are not known, however many.
	Native bool
	Module string // native: the file's name without its directory, "[vdso]", or "[anon]" for code that no file has
}

// Stack is who was calling when memory was allocated: innermost frame first, up to the statement that ran, or, where Python did not
// call, to the thread's start. Native frames come before those of Python.
type Stack struct {
	Number uint64
	PID    int32
	Frames []Frame // hostile, as everything that came out of a target
	More   bool    // there were more frames further out
}

// ProcessInfo describes one attached root process.
type ProcessInfo struct {
	Root     uint32
	PID      int32
	Command  string
	Python   string // "3.11.2", or "" if it is not a Python
	IPython  string
	Frontend string // "ipykernel", "terminal" or ""
	Notebook string // the path of the notebook that it runs, as its own environment or namespace has it, 1,024 bytes at most; "" if neither does
	Late     bool   // attached while it was already running
	Inputs   int64  // len(In) when this was learned, -1 if not known
	// Limit is the soft limit on what it may map (RLIMIT_DATA), set by LimitBy; 0 if there is none.
	Limit   Bytes
	LimitBy LimitBy
	// Started is when it started after boot, in 1/100 s; 0: not known.
	Started uint64
}

// MeterSource says which probe serves a meter and how good its figures are.
type MeterSource struct {
	Meter  Meter
	Source string // for people: "tp_btf/rss_stat, per-CPU counters summed"
	Exact  bool
	Bound  Bytes // how far a figure can be off when it is not exact; -1 if nobody can say
	Absent bool  // no probe serves it here
}

// Host describes the machine.
type Host struct {
	Name    string
	Kernel  string
	CPUs    int
	Memory  Bytes
	Tracer  string // version of the tracer that recorded
	BootID  string
	WallNow Nanoseconds // CLOCK_REALTIME at the instant MonoNow
	MonoNow Nanoseconds
}

// Start opens a stream and says what is traced, where and how.
type Start struct {
	Host      Host
	Processes []ProcessInfo
	Meters    []MeterSource
	Command   []string // of `tracer run`, else nil
}

// Process announces a process that joined after [Start], or what was learned about one since.
type Process struct{ ProcessInfo }

// ProbeUse says how often a probe fired.
type ProbeUse struct {
	Probe string
	Site  string // "PyTraceMalloc_Track+7 in /usr/bin/python3.11"
	Hits  uint64
	Cost  Nanoseconds // of CPU time that the hits took, by what one takes on this machine, without walks up stacks; 0: not known
	Dear  string      // why a dearer place serves than there might be, for the first process of which that is so; else empty
}

// GPU is a device by the names that stay.
type GPU struct {
	Index    int // N of gpu.N: NVML's, by PCI bus id
	UUID     string
	PCIBusID string
	Name     string
	Memory   Bytes // in all; 0 if not known
}

// FinishCut is the Reason of a Finish that the reader of a recording adds where there is none.
const FinishCut = "recording cut"

// Finish closes a stream with the counters the certificate prints.
type Finish struct {
	Time      Nanoseconds
	Reason    string // "interrupted", "target ended", "duration", "recording cut"
	Made      uint64 // changes made in the kernel
	Delivered uint64
	Lost      []Loss
	Blind     []Blind  // what could not be probed or read
	Late      []string // libraries that joined late
	Probes    []ProbeUse
	GPUs      []GPU    // that the traced processes could use, as NVML names them
	Problems  []string // anything the user must know: refused windows, probes that could not be placed
	// Unnamed are those of the problems that leave figures and windows alone: what has no lines, or no names.
	Unnamed []string
	Shells  []Shell // what IPython reports about itself in the end
}

// Shell is what IPython says of itself, read from outside just before the detach: the windows are held against it.
type Shell struct {
	PID    int32
	Time   Nanoseconds
	Inputs int64 // len(In), -1 if it is not known
	Idle   bool  // its front end waits for the next request: no cell of the main thread is open
}

func (*Start) isEvent()      {}
func (*Boundary) isEvent()   {}
func (*Reading) isEvent()    {}
func (*Change) isEvent()     {}
func (*Refusal) isEvent()    {}
func (*Foreign) isEvent()    {}
func (*CellSource) isEvent() {}
func (*Stack) isEvent()      {}
func (*Process) isEvent()    {}
func (*Lull) isEvent()       {}
func (*Finish) isEvent()     {}
