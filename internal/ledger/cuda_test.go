package ledger

import (
	"testing"

	"ipytracer/event"
	"ipytracer/internal/code/cuda"
)

// Package cuda puts its operations into cookies, and BPF reads them there: the numbers must be the same.
func TestOperationsAreThoseOfTheKernel(t *testing.T) {
	for operation, want := range map[cuda.Operation]kernelCudaOperation{
		cuda.None: kernelCudaOperationCUDA_NONE, cuda.Alloc: kernelCudaOperationCUDA_ALLOC,
		cuda.AllocPitch: kernelCudaOperationCUDA_ALLOC_PITCH, cuda.AllocPool: kernelCudaOperationCUDA_ALLOC_POOL,
		cuda.AllocAsync: kernelCudaOperationCUDA_ALLOC_ASYNC, cuda.Free: kernelCudaOperationCUDA_FREE,
		cuda.HostAlloc: kernelCudaOperationCUDA_HOST_ALLOC, cuda.HostFree: kernelCudaOperationCUDA_HOST_FREE,
		cuda.HostRegister: kernelCudaOperationCUDA_HOST_REGISTER, cuda.Create: kernelCudaOperationCUDA_CREATE,
		cuda.Release: kernelCudaOperationCUDA_RELEASE, cuda.Map: kernelCudaOperationCUDA_MAP,
		cuda.Unmap:        kernelCudaOperationCUDA_UNMAP,
		cuda.RetainHandle: kernelCudaOperationCUDA_RETAIN, cuda.Import: kernelCudaOperationCUDA_IMPORT,
		cuda.IPCOpen: kernelCudaOperationCUDA_IPC_OPEN, cuda.IPCClose: kernelCudaOperationCUDA_IPC_CLOSE,
		cuda.Array: kernelCudaOperationCUDA_ARRAY, cuda.Array3D: kernelCudaOperationCUDA_ARRAY_3D,
		cuda.Mipmap:       kernelCudaOperationCUDA_MIPMAP,
		cuda.ArrayDestroy: kernelCudaOperationCUDA_ARRAY_DESTROY, cuda.PoolCreate: kernelCudaOperationCUDA_POOL_CREATE,
		cuda.PoolDefault: kernelCudaOperationCUDA_POOL_DEFAULT, cuda.PoolSet: kernelCudaOperationCUDA_POOL_SET,
		cuda.PoolAt: kernelCudaOperationCUDA_POOL_AT, cuda.PoolSetAt: kernelCudaOperationCUDA_POOL_SET_AT,
		cuda.ContextCreate:  kernelCudaOperationCUDA_CTX_CREATE,
		cuda.ContextDestroy: kernelCudaOperationCUDA_CTX_DESTROY, cuda.ContextSet: kernelCudaOperationCUDA_CTX_SET,
		cuda.ContextPush: kernelCudaOperationCUDA_CTX_PUSH, cuda.ContextPop: kernelCudaOperationCUDA_CTX_POP,
		cuda.PrimaryRetain:  kernelCudaOperationCUDA_PRIMARY_RETAIN,
		cuda.PrimaryRelease: kernelCudaOperationCUDA_PRIMARY_RELEASE,
		cuda.PrimaryReset:   kernelCudaOperationCUDA_PRIMARY_RESET, cuda.Checkpoint: kernelCudaOperationCUDA_CHECKPOINT,
		cuda.Restore: kernelCudaOperationCUDA_RESTORE,
	} {
		if uint64(operation) != uint64(want) {
			t.Errorf("operation %d is %d in the kernel", operation, want)
		}
	}
	if cuda.Restore+1 != cuda.Operation(kernelCudaOperationCUDA_OPERATIONS) {
		t.Error("an operation is not compared here")
	}
}

// The kernel's numbers of the functions that move device memory.
func TestMoversAreThoseOfTheKernel(t *testing.T) {
	if event.MovedOut != event.Caller(kernelCudaMoverCALLER_MOVED_OUT) ||
		event.MovedBack != event.Caller(kernelCudaMoverCALLER_MOVED_BACK) ||
		event.Remapped != event.Caller(kernelCudaMoverCALLER_REMAPPED) {
		t.Errorf("%d and %d", event.MovedOut, event.MovedBack)
	}
}

func TestDeviceMetersAreThoseOfTheKernel(t *testing.T) {
	for m, want := range map[event.DeviceMeter]kernelDeviceMeter{
		event.Driver: kernelDeviceMeterDEVICE_DRIVER, event.Active: kernelDeviceMeterDEVICE_ACTIVE,
		event.Reserved: kernelDeviceMeterDEVICE_RESERVED,
	} {
		if uint32(m) != uint32(want) {
			t.Errorf("%v is %d in the kernel", m, want)
		}
	}
}
