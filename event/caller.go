package event

// Caller is the function of the CUDA runtime that called the driver. It is 0 if the program called the driver directly,
// or through a runtime that is linked statically and has no symbols.
//
// "cuMemAllocManaged" is a direct call of the driver for managed memory. The values [MovedOut] and [MovedBack] are
// functions of the driver: by them a process moves all device memory of another process to the host and back.
// [Remapped] is a system call.
//
// A recording has the names, because the numbers hold within one session only.
type Caller uint8

// callers are the runtime's functions that allocate or free memory: cuda_runtime_api.h of CUDA 11 to 13. Each
// may also be exported with _ptsz or _ptds, for the per-thread default stream.
var callers = [...]string{
	"", "cudaMalloc", "cudaFree", "cudaMallocPitch", "cudaMalloc3D", "cudaMallocManaged", "cudaMallocAsync",
	"cudaMallocFromPoolAsync", "cudaFreeAsync", "cudaMallocHost", "cudaHostAlloc", "cudaFreeHost", "cudaHostRegister",
	"cudaHostUnregister", "cudaMallocArray", "cudaMalloc3DArray", "cudaMallocMipmappedArray", "cudaFreeArray",
	"cudaFreeMipmappedArray", "cuCheckpointProcessCheckpoint", "cuCheckpointProcessRestore",
	"mremap", "cuMemAllocManaged",
}

// The functions by which a process suspends another one.
const (
	MovedOut  = Caller(len(callers) - 4)
	MovedBack = Caller(len(callers) - 3)
)

// Remapped: a thread's mremap takes its pages from the range of one change to the range of the thread's next one.
const Remapped = Caller(len(callers) - 2)

// Moves reports whether the function moves all of a process's device memory.
func (c Caller) Moves() bool { return c == MovedOut || c == MovedBack }

// IsManaged reports whether the function allocates managed memory, which lies on a GPU or in the machine's memory.
func (c Caller) IsManaged() bool {
	return c.String() == "cudaMallocManaged" || c.String() == "cuMemAllocManaged"
}

// String returns the function's name, "" for none.
func (c Caller) String() string {
	if int(c) < len(callers) {
		return callers[c]
	}
	return ""
}

// ParseCaller inverts [Caller.String]; ok is false for an unknown name.
func ParseCaller(name string) (c Caller, ok bool) {
	for i, known := range callers {
		if known == name {
			return Caller(i), true
		}
	}
	return 0, false
}
