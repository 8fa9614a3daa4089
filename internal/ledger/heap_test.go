package ledger

import (
	"testing"

	"ipytracer/event"
	"ipytracer/internal/code/libc"
)

// Package memory puts its operations into cookies, and BPF reads them there: the numbers must be the same.
func TestHeapOperationsAreThoseOfTheKernel(t *testing.T) {
	for operation, want := range map[libc.Operation]kernelHeapOperation{
		libc.None: kernelHeapOperationHEAP_NONE, libc.Alloc: kernelHeapOperationHEAP_ALLOC,
		libc.AllocArray:   kernelHeapOperationHEAP_ALLOC_ARRAY,
		libc.AllocAligned: kernelHeapOperationHEAP_ALLOC_ALIGNED, libc.AllocInto: kernelHeapOperationHEAP_ALLOC_INTO,
		libc.Resize: kernelHeapOperationHEAP_RESIZE, libc.ResizeArray: kernelHeapOperationHEAP_RESIZE_ARRAY,
		libc.Free: kernelHeapOperationHEAP_FREE,
	} {
		if uint32(operation) != uint32(want) {
			t.Errorf("operation %d is %d in the kernel", operation, want)
		}
	}
	if libc.Free+1 != libc.Operation(kernelHeapOperationHEAP_OPERATIONS) {
		t.Error("an operation is not compared here")
	}
	for m, want := range map[event.Meter]kernelMeter{event.Heap: kernelMeterMETER_HEAP,
		event.Mapped: kernelMeterMETER_MAPPED, event.Pinned: kernelMeterMETER_PINNED,
		event.Torch: kernelMeterMETER_TORCH} {
		if uint32(m) != uint32(want) {
			t.Errorf("%v is %d in the kernel", m, want)
		}
	}
}
