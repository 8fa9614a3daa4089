package event

// Caller is the function of the CUDA runtime from which the driver was called; 0 if it was called directly, or by a runtime
// that is linked statically and has no names. The last two are the driver's own, by which one process moves another's device memory to the host
// and back: what moved is no block, but all that the process has on the device. The numbers are the kernel ledger's only within one session: recordings have
// the names.
type Caller uint8

// callers are the runtime's functions that take memory or give it back: cuda_runtime_api.h of CUDA 11 to 13. Each
// may also be exported with _ptsz or _ptds, for the per-thread default stream.
var callers = [...]string{
	"", "cudaMalloc", "cudaFree", "cudaMallocPitch", "cudaMalloc3D", "cudaMallocManaged", "cudaMallocAsync", "cudaMallocFromPoolAsync",
	"cudaFreeAsync", "cudaMallocHost", "cudaHostAlloc", "cudaFreeHost", "cudaHostRegister", "cudaHostUnregister", "cudaMallocArray",
	"cudaMalloc3DArray", "cudaMallocMipmappedArray", "cudaFreeArray", "cudaFreeMipmappedArray", "cuCheckpointProcessCheckpoint",
	"cuCheckpointProcessRestore",
}

// Those by which one process suspends another.
const (
	MovedOut  = Caller(len(callers) - 2)
	MovedBack = Caller(len(callers) - 1)
)

// Moves says whether it moves all of a process's device memory.
func (c Caller) Moves() bool { return c == MovedOut || c == MovedBack }

// String returns the function's name, "" for none.
func (c Caller) String() string {
	if int(c) < len(callers) {
		return callers[c]
	}
	return ""
}

// ParseCaller is the inverse of [Caller.String]; ok is false for a name it does not know.
func ParseCaller(name string) (c Caller, ok bool) {
	for i, known := range callers {
		if known == name {
			return Caller(i), true
		}
	}
	return 0, false
}
