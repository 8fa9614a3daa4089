// Package event is the vocabulary of ipytracer: the records of the kernel ledger as Go types, and the one table of
// meters. It is a leaf that imports nothing of ipytracer; other packages compute the results.
//
// Two kinds of record matter. A [Boundary] marks an instant at which some window opened or closed and carries, for the
// process that acted and for its whole tree, every meter's value at that instant and its maximum since the boundary
// before. Boundaries are never lost. A [Change] says that one meter took one value. Changes may be lost, and lost
// changes are counted. So changes prove peaks, but never decide them.
package event

import (
	"context"
	"errors"
	"io"
)

// Event is anything a [Source] yields: *[Start], *[Process], *[Boundary], *[Reading], *[Change], *[Refusal],
// *[Foreign], *[CellSource], *[Stack], *[Holders], *[Variables], *[Residence], *[Limits], *[Ending], *[Lull],
// *[Settled] or *[Finish].
type Event interface{ isEvent() }

// Source yields events in the order in which they change windows. Next returns io.EOF after the last event. A live
// session and a recording are both Sources, so a caller cannot tell them apart.
type Source interface {
	Next(ctx context.Context) (Event, error)
}

// Change is one value that one meter took.
type Change struct {
	Stream  uint64 // counts the changes of Root from 1; a missing number is a loss
	Segment uint64 // the segment of Root to which the change belongs
	Time    Nanoseconds
	Root    uint32
	PID     int32
	TID     int32
	Meter   Meter
	Value   Bytes  // the meter's value; for Resident the value from which it fell
	Size    Bytes  // the size of the block, negative if it was freed; 0 if the change is of no block
	Address uint64 // of the block
	Caller  Caller // driver, pinned; mapped: [Remapped]
	Stack   uint64 // the number of the [Stack] that allocated, 0 if not known; a lost stack has no event
	// Block says what Size and Address mean, by the meter:
	//   - Active, Heap: the block of Size at Address changed the total. Without Block only the total is known.
	//   - Mapped: from now on the whole range [Address, Address + |Size|) is mapped, or all of it is unmapped. Parts of
	//     the range may have been so before.
	//   - Driver: PyTorch's allocator requested the block from a pool of the driver (cudaMallocAsync), and will not
	//     report it.
	//   - Resident: with Sample, the page at Address became resident, and stands for all pages since the sample before;
	//     else nothing of the range [Address, Address + |Size|) is resident any more. Value is the meter's afterwards.
	//   - Reserved: the meter rose by Size, because the driver gave the same thread blocks since PyTorch's last report.
	Block bool
	// Passed is the number of boundaries that may have been drawn at the same moment. The change belongs to Segment, or
	// to one of the next Passed segments.
	Passed uint8
	// Collected: the block was freed while Python's garbage collector ran.
	Collected bool
	// Sample: the block stands for further blocks of its size, [Change.Represents] together. Size is that of the block
	// itself. StandsFor is that sum where it is not [SampleOf], else 0; it is at most [MaxStandsFor].
	Sample    bool
	StandsFor Bytes
	// Unchained: the change may not start from the value of the change before, because blocks that are not reported may
	// have moved the meter in between.
	Unchained bool
	// Found: a search after a pause of the meter found that the block was allocated, or freed, during the pause. The
	// change belongs to no window that opened since the pause began.
	Found bool
	// Learned: this is the first known Value of the meter (PyTorch's totals after a late attach). The meter has had it
	// all along.
	Learned bool
}

// Refusal is a refused request for memory: a failed call of the CUDA driver, or an out-of-memory error of PyTorch's
// allocator. No meter moved.
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
	Detail  uint64 // driver: the CUresult; PyTorch: its reserved memory, in bytes
}

// Foreign says that a process opened or closed device memory of another process (CUDA IPC, imported handles). The meter
// of the process that allocated the memory counts it. No meter of the process with PID changes.
type Foreign struct {
	Stream  uint64 // numbered with the changes
	Segment uint64
	Time    Nanoseconds
	Root    uint32
	PID     int32
	TID     int32
	Meter   Meter // the driver's of the device
	Open    int64 // how many such blocks the process has open now
	Closed  bool  // true: a block was closed; false: one was opened
	Address uint64
}

// Lull says that all readings of the boundaries so far have been delivered. A live session returns a Lull when it has
// read the rings empty. By it a consumer of events needs no clock, and gets the same result from a recording.
type Lull struct{}

// CellSource is the text of a cell as the user typed it. If that could not be read, it is the text that IPython
// compiled.
type CellSource struct {
	Cell      uint64
	PID       int32
	Text      string // hostile, like everything from a target
	Truncated bool
}

// Frame is one call on a stack.
type Frame struct {
	Function string // co_qualname, co_name before Python 3.11; native: see Module
	File     string // co_filename; native: from DWARF, else ""
	Line     int32  // from 1; 0 if not known
	// Input is N of In[N] for code of a cell that ran before the tracer attached; 0 for all other code.
	Input int32
	// Native: the call is of machine code, not of Python. Function is then its symbol, demangled and without
	// parameters; "libx.so+0x12ab", with the address in the file, if no symbol covers it; or "?" for any number of
	// unknown calls.
	Native bool
	Module string // native: the file's name without its directory, "[vdso]", or "[anon]" for code that no file has
}

// Stack has the calls that led to an allocation, the innermost first. The outermost is the statement that ran; on a
// thread that Python did not start it is the thread's first call. Native frames come before Python's.
type Stack struct {
	Number uint64
	PID    int32
	Frames []Frame // hostile, like everything from a target
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
	// Notebook is the path of the process's notebook, from its environment or its namespace, at most 1,024 bytes; "" if
	// neither has one.
	Notebook string
	Late     bool  // attached while it was already running
	Inputs   int64 // len(In) at the time of this description, -1 if not known
	// Limit is the soft limit on mapped memory (RLIMIT_DATA); 0 if there is none. LimitBy says who set it.
	Limit   Bytes
	LimitBy LimitBy
	// Started is the time at which the process started, in 1/100 s since boot; 0 if it is not known.
	Started uint64
}

// MeterSource names the probe behind a meter and the quality of its figures.
type MeterSource struct {
	Meter  Meter
	Source string // for people: "tp_btf/rss_stat, per-CPU counters summed"
	Exact  bool
	Bound  Bytes // how far a figure can be off if it is not exact; -1 if that is unknown
	Absent bool  // no probe serves the meter here
}

// Start opens a stream. It has the traced processes, the sources of the meters, and the machine.
type Start struct {
	Host      Host
	Processes []ProcessInfo
	Meters    []MeterSource
	Command   []string // of `tracer run`, else nil
}

// Process announces a process that joined after [Start], or changed facts of a known one.
type Process struct{ ProcessInfo }

// ProbeUse says how often a probe was hit, and what that cost.
type ProbeUse struct {
	Probe string
	Site  string // "PyTraceMalloc_Track+7 in /usr/bin/python3.11"
	Hits  uint64
	// Cost is the CPU time of the hits: Hits times the cost of one hit on this machine, without walks of stacks. 0: not
	// known.
	Cost Nanoseconds
	// Dear says why the first process with such a probe has it at a more expensive place than usual; "" if the place is
	// the usual one. With DearMachine it says what a hit costs on this machine.
	Dear        string
	DearMachine bool
}

// GPU describes a device by names that do not change.
type GPU struct {
	Index    int // N of gpu.N: NVML's, by PCI bus id
	UUID     string
	PCIBusID string
	Name     string
	Memory   Bytes // total; 0 if not known
	Shared   bool  // it has no memory of its own, but shares that of the machine (GB10)
}

// FinishCut is the Reason of the Finish that the reader adds to a recording without a Finish.
const FinishCut = "recording cut"

// Finish closes a stream with the counters that the certificate prints.
type Finish struct {
	Time      Nanoseconds
	Reason    string // "interrupted", "target ended", "duration", "recording cut"
	Made      uint64 // changes that the kernel half numbered
	Delivered uint64 // changes that reached user space
	Lost      []Loss
	Unprobed  []Unprobed // places that could not be probed or read
	Late      []string   // libraries that were loaded before their probes were placed
	Probes    []ProbeUse
	GPUs      []GPU    // the GPUs that the traced processes could use, as NVML names them
	Problems  []string // anything that the user must know: refused windows, probes that could not be placed
	// Unnamed are problems by which only lines or names are missing. They affect no figure and no window.
	Unnamed []string
	Shells  []Shell // IPython's own counts at the end
}

// Shell is IPython's own count of its cells, read from outside just before the detach. The tracer compares its windows
// with that count.
type Shell struct {
	PID    int32
	Time   Nanoseconds
	Inputs int64 // len(In), -1 if it is not known
	Idle   bool  // its front end waits for the next request: no cell of the main thread is open
}

func (*Start) isEvent()      {}
func (*Change) isEvent()     {}
func (*Refusal) isEvent()    {}
func (*Foreign) isEvent()    {}
func (*CellSource) isEvent() {}
func (*Stack) isEvent()      {}
func (*Process) isEvent()    {}
func (*Lull) isEvent()       {}
func (*Finish) isEvent()     {}

// Each calls visit with each event of a source, up to the source's end. It fails with the source's error, or ctx's.
func Each(ctx context.Context, source Source, visit func(Event)) error {
	for {
		e, err := source.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		visit(e)
	}
}
