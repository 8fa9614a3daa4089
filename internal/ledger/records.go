package ledger

import "ipytracer/event"

// Sink receives the contents of the rings. An *event.Change is valid only during the call.
type Sink interface {
	Change(*event.Change)
	Refusal(*event.Refusal)
	Foreign(*event.Foreign)
	Boundary(*event.Boundary, BoundaryExtra)
	Reading(*event.Reading)
	Source(*SourceChunk)
	Code(*Code)
	Stack(*Stack)
	NativeStack(*NativeStack)
	StackCopy(*StackCopy)
	// LibrariesChanged is called when a process loaded or unloaded a shared library, or is about to.
	LibrariesChanged(pid int32)
}

// Code is a code object to which a stack refers, as it was when it was first seen.
type Code struct {
	PID          int32
	Number       uint64
	FirstLine    int32 // co_firstlineno
	File, Name   string
	Table        []byte // the beginning of its line table
	TableAddress uint64 // of the whole table
	TableSize    int    // bytes of the whole table; -1 if it could not be read
}

// Frame is a place in a code object.
type Frame struct {
	Code uint64 // number of a [Code]; 0 if it could not be read
	At   int64  // f_lasti before 3.11, bytes from the first instruction since
}

// Stack is a Python stack, innermost frame first.
type Stack struct {
	PID    int32
	Number uint64
	Frames []Frame
	More   bool // there were more frames
}

// SourceChunk is a part of a cell's source. The typed text comes first, then the text that IPython compiles.
type SourceChunk struct {
	Cell   uint64
	PID    int32
	Kind   uint32 // typed: bytes in one character, see [DecodeText]; 0: compiled, UTF-8
	Offset int    // bytes before it
	Total  int    // typed: bytes of the whole text, even if not all are sent
	Text   []byte // valid during the call; the last one of the compiled text ends with a NUL
}

// BoundaryExtra has the parts of a boundary for package tracer alone, which turns this raw material into fields.
type BoundaryExtra struct {
	FirstLine int32   // StatementOpen: co_firstlineno
	LineTable []byte  // StatementOpen: the beginning of the code object's line table
	Group     Group   // MeterShed, MeterBack
	Foreign   Foreign // not 0: the pause is due to blocks that the probes in NumPy do not see, not to the budget
	Told      bool    // CellResult, CellClose: the outcome is IPython's own report, and final
	Status    int32   // ProcessExit: the status of wait(2)
	// OutOfMemory: ProcessExit of a process that the kernel's OOM killer had chosen.
	OutOfMemory bool
	// Watched is how many descriptors of the container's memory.peak have been written to and are open: 0, 1, or 2 for
	// more.
	Watched     uint32
	NamedPython bool    // ProcessExec: the program's file is named python…, as every CPython's is
	Imports     Imports // ProcessExec, ProcessExit: of the program that ended
}

// Imports are libraries that allocate and that a process has mapped as code since its exec, by the names of their
// files.
type Imports uint32

// Bits of [Imports].
const (
	ImportsNumPy = Imports(kernelImportsIMPORTS_NUMPY)
	ImportsTorch = Imports(kernelImportsIMPORTS_TORCH)
	ImportsCUDA  = Imports(kernelImportsIMPORTS_CUDA)
	ImportsArrow = Imports(kernelImportsIMPORTS_ARROW)
)

// Foreign names the origin of blocks that the probes in NumPy do not see. Values may be combined.
type Foreign uint32

// Foreign blocks.
const (
	// NumPy got another memory handler than its own (NEP 49)
	ForeignHandler = Foreign(kernelForeignFOREIGN_HANDLER)
	// small blocks of NumPy that the process counts itself from now on: [Pages]
	ForeignCounted = Foreign(kernelForeignFOREIGN_COUNTED)
	ForeignModule  = Foreign(kernelForeignFOREIGN_MODULE) // another NumPy was mapped than those of ForeseeModules
)
