package ledger

import (
	"testing"

	"ipytracer/event"
	"ipytracer/tracer/memory"
)

// Package memory puts its operations into cookies, and BPF takes them out: they must be the same numbers.
func TestHeapOperationsAreThoseOfTheKernel(t *testing.T) {
	for operation, want := range map[memory.Operation]kernelHeapOperation{
		memory.None: kernelHeapOperationHEAP_NONE, memory.Alloc: kernelHeapOperationHEAP_ALLOC, memory.AllocArray: kernelHeapOperationHEAP_ALLOC_ARRAY,
		memory.AllocAligned: kernelHeapOperationHEAP_ALLOC_ALIGNED, memory.AllocInto: kernelHeapOperationHEAP_ALLOC_INTO,
		memory.Resize: kernelHeapOperationHEAP_RESIZE, memory.ResizeArray: kernelHeapOperationHEAP_RESIZE_ARRAY, memory.Free: kernelHeapOperationHEAP_FREE,
	} {
		if uint32(operation) != uint32(want) {
			t.Errorf("operation %d is %d in the kernel", operation, want)
		}
	}
	if memory.Free+1 != memory.Operation(kernelHeapOperationHEAP_OPERATIONS) {
		t.Error("an operation is not compared here")
	}
	for m, want := range map[event.Meter]kernelMeter{event.Heap: kernelMeterMETER_HEAP, event.Mapped: kernelMeterMETER_MAPPED, event.Pinned: kernelMeterMETER_PINNED, event.Torch: kernelMeterMETER_TORCH} {
		if uint32(m) != uint32(want) {
			t.Errorf("%v is %d in the kernel", m, want)
		}
	}
}
