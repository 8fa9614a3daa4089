package event

// Group names probes, or kinds of their reports, that are taken out and put back together. A [MeterShed] or [MeterBack]
// boundary concerns one group. internal/words describes each group for people.
type Group uint8

// The groups. If several groups stop a meter at the same time, reports name the last of them.
const (
	ArrayProbes Group = iota // the probes of [NumPy]
	// ForeignArrays are blocks that the probes in NumPy do not see: those of a foreign memory handler (NEP 49), or of
	// another NumPy than expected. The group stays out until other probes see them. Blocks that are known stay known.
	ForeignArrays
	SmallBlocks  // NumPy's blocks below 1,024 bytes, where those are counted
	TorchCPU     // the probes of [Torch]
	ArrowPools   // the probes of [Arrow]
	TorchTotals  // PyTorch's meters of every GPU
	Stacks       // the stacks of allocations
	SmallStacks  // the stacks of all blocks and ranges below 64 KiB
	NativeStacks // the native frames of all stacks
	TensorStacks // PyTorch's blocks on GPUs and their stacks
	MappedStacks // the stacks of mapped memory
	HeapStacks   // malloc's blocks and their stacks
	Statements   // the probes on statements; no meter is paused meanwhile
	CellEnds     // the probes on the ends of cells
	// CountedArrays are the stacks of small arrays that the process counts itself (libipytracer_counts): it is out from
	// then on. The figures are the process's word, bounded by what Linux counts.
	CountedArrays
	// CountedHeap are the stacks of malloc's blocks below 64 KiB, where the process counts all of malloc's blocks
	// itself (libipytracer_heap), likewise.
	CountedHeap
	// CountedTensors are the stacks of small tensors that the process counts itself, likewise.
	CountedTensors
	// OtherProbes stands for a group that only the tracer of the recording knows. [Boundary.Probes] names it.
	OtherProbes

	Groups = OtherProbes + 1 // the number of groups
)
