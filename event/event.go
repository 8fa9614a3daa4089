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

// Source yields events in the order in which windows have to see them. Next returns io.EOF after the last one. The live
// rings and a recording are both Sources, so code behind this interface cannot tell them apart.
type Source interface {
	Next(ctx context.Context) (Event, error)
}

// Change is one value that one meter took.
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
	Stack   uint64 // stack that allocated: the number of a [Stack], 0 if not known; a lost stack has no event
	// Block depends on the meter. PyTorch's total of active memory, heap: the block of Size at Address changed the
	// total; else only the total is known. Mapped: from now on the whole range [Address, Address + |Size|) is mapped,
	// or nothing of it; parts of it may have been mapped before. Driver: PyTorch's allocator requested the block from a
	// pool of the driver's (cudaMallocAsync), and does not report it. Reserved: the meter rose by Size, by blocks that
	// the driver gave the same thread since PyTorch's last report.
	Block bool
	// Passed is the largest number of boundaries that were drawn at the same moment. The change belongs to its segment,
	// or to one of that many later segments.
	Passed uint8
	// Collected: the block was freed while Python's garbage collector ran.
	Collected bool
	// Sample: the block is a sample. It stands for [SampleOf] bytes of blocks of its size. Size is the block's own
	// size.
	Sample bool
	// Unchained: unreported blocks may have moved the meter since the change before, so this change does not start from
	// the value of that one.
	Unchained bool
	// Found: a later search found that the block was allocated, or freed, while its meter was stepped down. It belongs
	// to no window that opened since then.
	Found bool
	// Learned: the meter was not known before (PyTorch's totals after a late attach). It has had this Value all along.
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

// Foreign says that a process opened or closed device memory of another process (CUDA IPC, imported handles). The
// memory counts in the process that allocated it. No meter of the process that opened or closed it moved.
type Foreign struct {
	Stream  uint64 // numbered with the changes
	Segment uint64
	Time    Nanoseconds
	Root    uint32
	PID     int32
	TID     int32
	Meter   Meter // the driver's of the device
	Open    int64 // blocks that are open now
	Closed  bool  // true: a block was closed; false: one was opened
	Address uint64
}

// Lull says that the rings were empty at this point: the boundary before it has all the readings that it will have. A
// live session adds a Lull where it has read everything. So consumers of events need no clock, and a recording of the
// events leads to the same result.
type Lull struct{}

// CellSource is the text of a cell as it was typed. It is the text that IPython compiles if the typed one could not be
// read.
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
	// Input is N of In[N] for the code of a cell that had run before the tracer could see it; 0 for all other code.
	Input int32
	// Native: machine code, not Python. Function is its symbol, demangled and without parameters. It is
	// "libx.so+0x12ab", with the address in the file, where no symbol covers it, and "?" for any number of unknown
	// calls.
	Native bool
	Module string // native: the file's name without its directory, "[vdso]", or "[anon]" for code that no file has
}

// Stack has the calls that led to an allocation: innermost frame first, up to the statement that ran, or, where Python
// did not call, to the thread's start. Native frames come before those of Python.
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
	// Notebook is the path of the process's notebook, 1,024 bytes at most. It comes from the environment or the
	// namespace of the process; "" if neither has one.
	Notebook string
	Late     bool  // attached while it was already running
	Inputs   int64 // len(In) at the time of this description, -1 if not known
	// Limit is the soft limit on mapped memory (RLIMIT_DATA), set by LimitBy; 0 if there is none.
	Limit   Bytes
	LimitBy LimitBy
	// Started is the time of its start after boot, in 1/100 s; 0: not known.
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

// ProbeUse has the number of hits of a probe.
type ProbeUse struct {
	Probe string
	Site  string // "PyTraceMalloc_Track+7 in /usr/bin/python3.11"
	Hits  uint64
	// CPU time of the hits: their number times the cost of one on this machine, without walks up stacks; 0: not known
	Cost Nanoseconds
	// Dear says why hits cost more than they might; "" if they do not. It says why a place serves that costs more than
	// the usual one, for the first process with such a place. With DearMachine it says what a hit costs on this
	// machine.
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
}

// FinishCut is the Reason of the Finish that the reader adds to a recording without one.
const FinishCut = "recording cut"

// Finish closes a stream with the counters the certificate prints.
type Finish struct {
	Time      Nanoseconds
	Reason    string // "interrupted", "target ended", "duration", "recording cut"
	Made      uint64 // changes made in the kernel
	Delivered uint64
	Lost      []Loss
	Unprobed  []Unprobed // places that could not be probed or read
	Late      []string   // libraries that joined late
	Probes    []ProbeUse
	GPUs      []GPU    // those that the traced processes could use, as NVML names them
	Problems  []string // anything that the user must know: refused windows, probes that could not be placed
	// Unnamed are further problems. They affect no figure and no window: only lines or names are missing because of
	// them.
	Unnamed []string
	Shells  []Shell // IPython's own counts at the end
}

// Shell is IPython's own count of its cells, read from outside just before the detach. The windows are compared with
// it.
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

// Each passes the events of a source to do, up to the source's end. It fails with the source's error, or ctx's.
func Each(ctx context.Context, source Source, do func(Event)) error {
	for {
		e, err := source.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		do(e)
	}
}
