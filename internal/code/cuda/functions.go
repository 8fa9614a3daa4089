package cuda

// Operation is what a function of the CUDA driver does, and with which arguments.
type Operation uint8

// Function says how a function of the CUDA driver is probed.
type Function struct {
	Operation Operation
	// Argument is the number, from 0, of the argument that names the device. It has a meaning only for operations whose
	// functions differ in that. For Alloc it is 1 where the memory is managed.
	Argument uint8
	// Narrow: the function is from CUDA 3.1 or before, with addresses and sizes of 32 bits.
	Narrow bool
}

// The fields of a cookie behind the operation (bpf/wire_cuda.h, enum cuda_operation).
const (
	argumentShift = 8
	narrowBit     = 1 << 16
)

// Cookie returns the number by which the BPF program knows the function.
func (f Function) Cookie() uint64 {
	cookie := uint64(f.Operation) | uint64(f.Argument)<<argumentShift
	if f.Narrow {
		cookie |= narrowBit
	}
	return cookie
}

// functions are the driver's functions by exported name (cuda.h of CUDA 3.2 to 13.2). A function without a suffix is
// older than its _v2. The functions with _ptsz and _ptds do the same on the per-thread default stream.
var functions = map[string]Function{
	"cuMemAlloc": {Operation: Alloc, Narrow: true}, "cuMemAlloc_v2": {Operation: Alloc},
	"cuMemFree": {Operation: Free, Narrow: true}, "cuMemAllocPitch": {Operation: AllocPitch, Narrow: true},
	"cuArrayCreate": {Operation: Array, Narrow: true}, "cuArray3DCreate": {Operation: Array3D, Narrow: true},
	"cuMemAllocPitch_v2": {Operation: AllocPitch}, "cuMemAllocManaged": {Operation: Alloc, Argument: 1},
	"cuMemAllocAsync": {Operation: AllocAsync}, "cuMemAllocAsync_ptsz": {Operation: AllocAsync},
	"cuMemAllocFromPoolAsync": {Operation: AllocPool}, "cuMemAllocFromPoolAsync_ptsz": {Operation: AllocPool},
	"cuMemFree_v2": {Operation: Free}, "cuMemFreeAsync": {Operation: Free}, "cuMemFreeAsync_ptsz": {Operation: Free},
	"cuMemHostAlloc": {Operation: HostAlloc}, "cuMemAllocHost": {Operation: HostAlloc},
	"cuMemAllocHost_v2": {Operation: HostAlloc},
	"cuMemFreeHost":     {Operation: HostFree}, "cuMemHostRegister": {Operation: HostRegister},
	"cuMemHostRegister_v2": {Operation: HostRegister}, "cuMemHostUnregister": {Operation: HostFree},
	"cuMemCreate": {Operation: Create}, "cuMemRelease": {Operation: Release}, "cuMemMap": {Operation: Map},
	"cuMemUnmap":                  {Operation: Unmap},
	"cuMemRetainAllocationHandle": {Operation: RetainHandle}, "cuMemImportFromShareableHandle": {Operation: Import},
	"cuIpcOpenMemHandle": {Operation: IPCOpen}, "cuIpcOpenMemHandle_v2": {Operation: IPCOpen},
	"cuIpcCloseMemHandle": {Operation: IPCClose},
	"cuArrayCreate_v2":    {Operation: Array}, "cuArray3DCreate_v2": {Operation: Array3D},
	"cuArrayDestroy":         {Operation: ArrayDestroy},
	"cuMipmappedArrayCreate": {Operation: Mipmap}, "cuMipmappedArrayDestroy": {Operation: ArrayDestroy},
	"cuMemPoolCreate": {Operation: PoolCreate}, "cuDeviceGetDefaultMemPool": {Operation: PoolDefault},
	"cuDeviceGetMemPool": {Operation: PoolDefault}, "cuDeviceSetMemPool": {Operation: PoolSet},
	"cuMemGetDefaultMemPool": {Operation: PoolAt}, "cuMemGetMemPool": {Operation: PoolAt},
	"cuMemSetMemPool": {Operation: PoolSetAt},
	"cuCtxCreate":     {Operation: ContextCreate, Argument: 2},
	"cuCtxCreate_v2":  {Operation: ContextCreate, Argument: 2},
	"cuCtxCreate_v3":  {Operation: ContextCreate, Argument: 4},
	"cuCtxCreate_v4":  {Operation: ContextCreate, Argument: 3},
	"cuCtxDestroy":    {Operation: ContextDestroy}, "cuCtxDestroy_v2": {Operation: ContextDestroy},
	"cuCtxSetCurrent": {Operation: ContextSet}, "cuCtxPushCurrent": {Operation: ContextPush},
	"cuCtxPushCurrent_v2": {Operation: ContextPush}, "cuCtxPopCurrent": {Operation: ContextPop},
	"cuCtxPopCurrent_v2":       {Operation: ContextPop},
	"cuDevicePrimaryCtxRetain": {Operation: PrimaryRetain}, "cuDevicePrimaryCtxRelease": {Operation: PrimaryRelease},
	"cuDevicePrimaryCtxRelease_v2": {Operation: PrimaryRelease}, "cuDevicePrimaryCtxReset": {Operation: PrimaryReset},
	"cuDevicePrimaryCtxReset_v2": {Operation: PrimaryReset},
}

// checkpoints are the driver's functions that one process calls to change another (CUDA 12.8).
var checkpoints = map[string]Function{
	"cuCheckpointProcessCheckpoint": {Operation: Checkpoint}, "cuCheckpointProcessRestore": {Operation: Restore},
}

// required are the functions without which a driver cannot be traced.
var required = []string{"cuMemAlloc_v2", "cuMemFree_v2"}
