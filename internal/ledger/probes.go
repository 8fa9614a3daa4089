package ledger

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"ipytracer/event"
)

// Group names probes that are paused together when they cost more than the budget. The numbers are those of the kernel
// half.
type Group uint32

// step is the class in which a group is paused, as in enum step_class of bpf/budget.h.
type step uint8

const (
	stepNever step = iota
	stepNative
	stepLines
	stepSmall
	stepMeter
	stepCells
	stepGPU
)

// groups has the fixed facts of each group.
var groups = [GroupCount]struct {
	name  string // for people
	step  step
	about event.Group // group in the boundaries at which it is paused, or resumed
}{
	GroupNumPy:       {name: "numpy", step: stepMeter, about: event.ArrayProbes},
	GroupStatement:   {name: "statements", step: stepCells, about: event.Statements},
	GroupResult:      {name: "cell ends", step: stepCells, about: event.CellEnds},
	GroupCell:        {name: "cell starts"},
	GroupSignal:      {name: "prompts"},
	GroupCode:        {name: "code objects"},
	GroupDriver:      {name: "CUDA driver"},
	GroupTorch:       {name: "PyTorch totals", step: stepGPU, about: event.TorchTotals},
	GroupLoader:      {name: "libraries"},
	GroupFrames:      {name: "Python stacks", step: stepLines, about: event.Stacks},
	GroupTensors:     {name: "PyTorch blocks", step: stepLines, about: event.TensorStacks},
	GroupMapping:     {name: "mapped memory", step: stepLines, about: event.MappedStacks},
	GroupHeap:        {name: "allocator"},
	GroupBlocks:      {name: "heap blocks", step: stepLines, about: event.HeapStacks},
	GroupNative:      {name: "native frames", step: stepNative, about: event.NativeStacks},
	GroupSmallStacks: {name: "stacks of small blocks", step: stepNative, about: event.SmallStacks},
	GroupSmall:       {name: "small blocks", step: stepSmall, about: event.SmallBlocks},
	GroupTorchCPU:    {name: "PyTorch on the CPU", step: stepMeter, about: event.TorchCPU},
	GroupArrow:       {name: "Arrow", step: stepMeter, about: event.ArrowPools},
}

// String returns the group's name for people.
func (g Group) String() string {
	if g < GroupCount {
		return groups[g].name
	}
	return "unknown"
}

// Level returns the fraction of a full account below which a group is paused, 0.75 for the first groups. ok is
// false for groups that are never paused.
func (g Group) Level() (part float64, ok bool) {
	if g >= GroupCount || groups[g].step == stepNever {
		return 0, false
	}
	return 1 - float64(groups[g].step)/4, true
}

// About returns the group that a MeterShed or MeterBack boundary names, with the text in recordings for a group that is
// never paused.
func (g Group) About() (about event.Group, probes string) {
	if _, ok := g.Level(); ok {
		return groups[g].about, ""
	}
	return event.OtherProbes, fmt.Sprintf("the probes on %v were stepped down to keep the overhead budget", g)
}

// Program names a uprobe program of the object.
type Program uint8

// The uprobe programs, and the values that they read at their site (see package cpython).
const (
	// Py_CompileStringObject: arguments 1 to 4, or with [Audited] in the cookie the call PySys_Audit("compile", …):
	// arguments 3, 4
	CellCompile Program = iota
	// _PyGen_SetStopIterationValue: argument 1, or with a cookie of 1 the calls in its place: argument 2
	CellResult
	CellSignal       // PyOS_setsig: arguments 1, 2, or with [Prompt] in the cookie PyOS_Readline
	CodeFreed        // where every code object ends: argument 1
	StatementOpen    // PyEval_EvalCode, or a call of it, with a StatementPlace cookie: argument 1
	StatementReturn  // every way out of PyEval_EvalCode, or after that call, with a WayOut cookie
	NumPyTrack       // PyTraceMalloc_Track: arguments 1, 2, 3
	NumPyUntrack     // PyTraceMalloc_Untrack: arguments 1, 2
	NumPyMade        // in NumPy, after an allocation, with an ArrayPlace cookie
	NumPyFreed       // the same, before a free
	NumPyResizing    // the same, before a reallocation
	NumPyResized     // the same, after it
	NumPyHandler     // where NumPy gets a memory handler, with a HandlerPlace cookie
	CUDAEnter        // a function of the CUDA driver, with a cookie of package cuda
	CUDALeave        // its return
	CheckpointEnter  // cuCheckpointProcess…, with a cookie of package cuda
	CheckpointLeave  // its return
	TorchReport      // c10::reportMemoryUsageToProfiler: arguments 1, 2, 3, 4, 5
	TorchRefused     // c10::reportOutOfMemoryToProfiler: arguments 1, 2, 3, 4
	TensorMade       // c10::ProfiledCPUMemoryReporter::New: arguments 2, 3
	TensorFreed      // …::Delete: argument 2
	TensorRefused    // …::OutOfMemory: argument 2
	PoolAllocating   // a pool's Allocate, with a PoolCall cookie: arguments 1, 3, 5
	PoolReallocating // its Reallocate: arguments 1, 3, 4, 6
	PoolReturning    // every way out of these, with a WayOut cookie
	PoolFreeing      // its Free: arguments 2, 3
	RuntimeEnter     // a function of the CUDA runtime, its event.Caller as cookie
	LibraryChanged   // _dl_debug_state
	MmapReturned     // after the system call in mmap: the result, arguments 2, 3, 4
	MremapReturned   // after that in mremap: the result, arguments 1, 3
	HeapEnter        // a function of the allocator, with a HeapCall cookie: arguments 1, 2, 3
	HeapLeave        // every way out of it, with a WayOut cookie
	HeapLeaveLate    // its return, where the ways out are not known
	CalibrateEntry   // does nothing: for the cost of a probe that only fires
	CalibrateReturn  // the same at a function's return
)

// Probes places the uprobe programs.
type Probes struct {
	objects *kernelObjects
	multi   bool // one link for many sites
}

func (p *Probes) program(named Program) *ebpf.Program {
	o := p.objects
	return map[Program]*ebpf.Program{
		CellCompile: o.CellCompile, CellResult: o.CellResult, CellSignal: o.CellSignal, CodeFreed: o.CodeFreed,
		StatementOpen: o.StatementOpen, StatementReturn: o.StatementReturn, NumPyTrack: o.NumpyTrack,
		NumPyUntrack: o.NumpyUntrack, NumPyMade: o.NumpyMade, NumPyFreed: o.NumpyFreed,
		NumPyResizing: o.NumpyResizing, NumPyResized: o.NumpyResized, NumPyHandler: o.NumpyHandler,
		CUDAEnter: o.CudaEnter, CUDALeave: o.CudaLeave, CheckpointEnter: o.CheckpointEnter,
		CheckpointLeave: o.CheckpointLeave, TorchReport: o.TorchReport, TorchRefused: o.TorchRefused,
		LibraryChanged: o.LibraryChanged, RuntimeEnter: o.RuntimeEnter, MmapReturned: o.MmapReturned,
		MremapReturned: o.MremapReturned, TensorMade: o.TensorMade, TensorFreed: o.TensorFreed,
		TensorRefused: o.TensorRefused, PoolAllocating: o.PoolAllocating, PoolReallocating: o.PoolReallocating,
		PoolReturning: o.PoolReturning, PoolFreeing: o.PoolFreeing, HeapEnter: o.HeapEnter, HeapLeave: o.HeapLeave,
		HeapLeaveLate: o.HeapLeaveLate, CalibrateEntry: o.Calibrate, CalibrateReturn: o.CalibrateReturn,
	}[named]
}

// At adds to the cookie of a site a fact that its program needs for the budget: whether the kernel emulates the
// instruction or single-steps it.
func At(emulated bool, cookie uint64) uint64 {
	if emulated {
		return cookie
	}
	return cookie | 1<<kernelSiteSITE_STEPPED
}

// Placement is one program at some offsets of one file.
type Placement struct {
	Program Program
	Offsets []uint64 // in the file, in bytes
	Cookies []uint64 // one for each offset, or none; see WayOut
}

// onReturn reports whether a program runs when the function at its offset returns. It is only for functions that throw
// nothing.
func (p Program) onReturn() bool {
	return p == CUDALeave || p == CheckpointLeave || p == HeapLeaveLate || p == CalibrateReturn
}

// WayOut returns the cookie of a StatementReturn site: the number of bytes on the stack above the return address, the
// register with the result (isa.Result), and the processor flags that must have a given value for the site to be on the
// way out.
func WayOut(pushed int32, register uint8, mask, value uint32) uint64 {
	return uint64(uint16(pushed)) | uint64(register)<<16 | uint64(uint16(mask))<<24 | uint64(uint16(value))<<40
}

// StatementPlace returns the cookie of a StatementOpen site: the number of bytes on the stack above the return address,
// or the call, and whether eval() makes the call: then only coroutines are statements.
func StatementPlace(pushed int32, awaits bool) uint64 {
	cookie := uint64(uint16(pushed))
	if awaits {
		cookie |= statementAwaits
	}
	return cookie
}

// HeapCall returns the cookie of a HeapEnter site: a memory.Operation, the number of bytes on the stack above the
// return address, and whether the allocator is glibc's, which keeps the size of a block in front of it.
func HeapCall(operation uint8, pushed int32, glibc bool) uint64 {
	cookie := uint64(operation) | uint64(uint16(pushed))<<8
	if glibc {
		cookie |= 1 << 24
	}
	return cookie
}

// PoolCall returns the cookie of a PoolAllocating or PoolReallocating site: the number of bytes on the stack above the
// return address there.
func PoolCall(pushed int32) uint64 { return uint64(uint16(pushed)) }

// Word is the place of a word at a site: the number of a register in the processor's numbering, or the number of words
// above the stack pointer.
type Word uint8

// The places that are no registers.
const (
	OnStack Word = Word(kernelArrayPlacePLACE_STACK) // plus the number of words
	Nowhere Word = Word(kernelArrayPlacePLACE_NONE)
)

// ArrayPlace returns the cookie of the probes in NumPy: the places of the block's address and its size, and the factor
// of the size. The size is [Nowhere] if it is not known, and the factor if the size is complete.
func ArrayPlace(block, size, times Word) uint64 {
	return uint64(block) | uint64(size)<<8 | uint64(times)<<16
}

// HandlerPlace returns the cookie of a NumPyHandler site: the place of the handler's capsule, and the distance in
// memory from the site to NumPy's own handler.
func HandlerPlace(capsule Word, own int64) uint64 { return uint64(capsule) | uint64(own)<<16 }

// File is a file, by a descriptor that may have been opened without access to the content (O_PATH).
type File interface{ Fd() uintptr }

// Probe places programs on a file for one process; pid 0 means every process that maps it. The descriptor identifies
// the file to the kernel: exactly this one, whatever its path and mount namespace. The file itself is neither read nor
// stat'ed. Either all programs are placed or none. The closer removes them.
func (p *Probes) Probe(f File, pid int, placements []Placement) (_ io.Closer, err error) {
	for _, placement := range placements {
		if slices.Contains(placement.Offsets, 0) {
			return nil, errHeader
		}
	}
	file, path, closeFile, err := executable(f)
	if err != nil {
		return nil, err
	}
	defer closeFile()
	var placed linkSet
	defer func() {
		if err != nil {
			_ = placed.Close()
		}
	}()
	for _, placement := range placements {
		links, err := p.place(file, pid, placement)
		placed = append(placed, links...)
		if err != nil {
			return nil, classify(fmt.Sprintf("probe %s", path), err)
		}
	}
	return placed, nil
}

// errHeader is the error for a probe at offset 0, where a file has its header. Package link would take 0 for a missing
// offset, and read the symbols of the file.
var errHeader = errors.New("a probe cannot be at offset 0, the header of a file")

// executable returns a file for package link. OpenExecutable calls stat on the path, which a file server may never
// answer. So the path leads to /dev/null until that call is over, and then to the file.
func executable(f File) (file *link.Executable, path string, closeFile func(), err error) {
	fd, err := unix.Open("/dev/null", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, "", nil, fmt.Errorf("open a place for the file: %w", err)
	}
	closeFile = func() { unix.Close(fd) }
	path = fmt.Sprintf("/proc/self/fd/%d", fd)
	if file, err = link.OpenExecutable(path); err == nil {
		err = unix.Dup3(int(f.Fd()), fd, unix.O_CLOEXEC)
	}
	if err != nil {
		closeFile()
		return nil, "", nil, fmt.Errorf("open %s: %w", path, err)
	}
	return file, path, closeFile, nil
}

// standIn returns the program to place for p, which is p itself except in a build with the tag hollow; false if none is
// to be placed.
var standIn = func(p Program) (Program, bool) { return p, true }

// place places one program on a file for a process.
func (p *Probes) place(file *link.Executable, pid int, at Placement) (links linkSet, err error) {
	standingIn, isPlaced := standIn(at.Program)
	if !isPlaced {
		return nil, nil
	}
	program := p.program(standingIn)
	if p.multi {
		place := file.UprobeMulti
		if at.Program.onReturn() {
			place = file.UretprobeMulti
		}
		placed, err := place(nil, program, &link.UprobeMultiOptions{
			Addresses: at.Offsets, Cookies: at.Cookies, PID: uint32(pid),
		})
		if err != nil {
			return nil, err
		}
		return linkSet{placed}, nil
	}
	for i, offset := range at.Offsets {
		options := &link.UprobeOptions{Address: offset, PID: pid}
		if at.Cookies != nil {
			options.Cookie = at.Cookies[i]
		}
		place := file.Uprobe
		if at.Program.onReturn() {
			place = file.Uretprobe
		}
		placed, err := place("", program, options)
		if err != nil {
			return links, err
		}
		links = append(links, placed)
	}
	return links, nil
}

// linkSet has links that are closed together.
type linkSet []link.Link

// maxClosing is the largest number of probes that are removed at the same time. Thousands of threads that wait for the
// kernel's locks of probes would stop the machine.
const maxClosing = 32

var closing = make(chan struct{}, maxClosing)

// Close removes every probe, many at the same time: the kernel waits some milliseconds for each (RCU).
func (p linkSet) Close() error {
	errs := make([]error, len(p))
	var removals sync.WaitGroup
	for i, probe := range p {
		removals.Go(func() {
			closing <- struct{}{}
			defer func() { <-closing }()
			errs[i] = probe.Close()
		})
	}
	removals.Wait()
	return errors.Join(errs...)
}
