package event

// Facts are the constant properties of a meter. No other place has them: attribution, recordings and printers ask here.
// docs/recipes/meter.md says how to add a meter.
type Facts struct {
	Meter  Meter  // for GPUs the meter of GPU 0, which stands for that of every GPU
	ID     string // for GPUs the part behind "gpu.N."
	Kind   MeterKind
	Format int    // the first recording format with this meter
	Doc    string // the section in docs/meters.md

	Source    string  // for people: the probe that serves it
	OnRequest string  // the flag that switches it on; "" if it is always on
	Through   Library // the library that must be probed, or asked, to see it
	// Always: every report shows the meter. Reports show other meters only if their value was ever other than 0.
	Always bool
	// OfPythons: only probes in a Python see the meter, so other processes have no figure of it.
	OfPythons bool
	// Within are the meters in whose memory the blocks of this one lie.
	Within []Meter
	// Asked: the look at the end searches the objects of a Python for references to the meter's blocks.
	// Owned: each block belongs to such an object, which frees it.
	Asked, Owned bool
	// Inside: an object of C++, such as a reader or a stream, may be the only holder of a block. So a block without a
	// Python object may still be freed.
	Inside   bool
	Headline int // the place of its column in tables, from 1; meters with 0 come after all others

	Unknown []UnknownKind // frees of these kinds make it uncertain
	Missing []MissingKind // losses and guesses of these kinds make it uncertain

	Paused       []Group // groups that stop the meter while they are out
	BlocksPaused []Group // groups that stop the reports of its blocks
	StacksPaused []Group // groups that stop the stacks of its blocks
	// Sampled: a block below [SampleOf] bytes may be reported as a sample, or not at all. Unreported blocks show in the
	// values from which the meter fell.
	Sampled bool
	// Forgotten: once reports of its blocks have stopped, the tracer no longer knows which blocks live.
	Forgotten bool
}

// MeterKind says how a meter moves, and what its [Change] events report.
type MeterKind uint8

// The kinds of meters.
const (
	Pages  MeterKind = iota // page by page: a change has a value from which the meter fell
	Part                    // a part of [Resident], counted as Pages
	Ranges                  // changes with Block are of ranges of addresses; other changes as for Pages
	Blocks                  // each change makes, resizes or frees a block, and starts from the value of the one before
	// OfAllocator: as Blocks for reported blocks, which are the changes with Block.
	OfAllocator
	Total   // an allocator's own total; a change with Block has the block that changed the total
	Reserve // an allocator's own total of the memory that it holds from another allocator
	Sampled // read now and then: the meter has no changes
)

// Library is the library, or the kernel, through which memory is allocated.
type Library uint8

// The libraries.
const (
	ThroughKernel Library = iota
	ThroughNumPy
	ThroughTorch
	ThroughCUDA
	ThroughAllocator
	ThroughArrow
)

const (
	cudaSource = "uprobes on the exported functions of libcuda.so.1, return codes checked; " +
		"memory taken since the attach"
	rssSource = "tracepoint kmem:rss_stat, the kernel's per-CPU counters"
)

// The meters, in the order in which a session lists their sources.
var table = []Facts{
	{
		Meter: Mapped, ID: "cpu.mapped", Kind: Ranges, Format: 1, Doc: "cpu.mapped", Always: true, Headline: 4,
		Source:       "mm->data_vm, read under mmap_lock at tracepoint mmap_lock:mmap_lock_released",
		BlocksPaused: []Group{MappedStacks}, StacksPaused: []Group{MappedStacks, SmallStacks},
	},
	{
		Meter: Resident, ID: "cpu.resident", Kind: Pages, Format: 1, Doc: "cpu.resident", Source: rssSource,
		Always: true, Headline: 1,
	},
	{
		Meter: ResidentAnon, ID: "cpu.resident.anon", Kind: Part, Format: 1, Doc: "cpu.resident", Source: rssSource,
		Always: true,
	},
	{
		Meter: ResidentFile, ID: "cpu.resident.file", Kind: Part, Format: 1, Doc: "cpu.resident", Source: rssSource,
		Always: true,
	},
	{
		Meter: ResidentShmem, ID: "cpu.resident.shmem", Kind: Part, Format: 1, Doc: "cpu.resident", Source: rssSource,
		Always: true,
	},
	{
		Meter: Copied, ID: "cpu.resident.copied", Kind: Part, Format: 8, Doc: "cpu.resident", OnRequest: "--copies",
		Source: "tracepoints exceptions:page_fault_user and page_fault_kernel, with the page's own count of maps",
	},
	{
		Meter: NumPy, ID: "cpu.numpy", Kind: Blocks, Format: 1, Doc: "cpu.numpy", Always: true, OfPythons: true,
		Headline: 5,
		Source: "uprobes in NumPy or on PyTraceMalloc_Track; arrays made since the attach, " +
			"blocks of 1,024 bytes or more",
		Through: ThroughNumPy, Within: []Meter{Mapped, Heap}, Asked: true, Owned: true,
		Unknown: []UnknownKind{UnknownNumPy}, Missing: []MissingKind{MissingNumPy},
		Paused: []Group{ArrayProbes, SmallBlocks, ForeignArrays}, BlocksPaused: []Group{ArrayProbes, ForeignArrays},
		StacksPaused: []Group{Stacks, SmallStacks, CountedArrays}, Sampled: true,
	},
	{
		Meter: Torch, ID: "cpu.torch", Kind: Blocks, Format: 5, Doc: "cpu.torch", OfPythons: true, Headline: 6,
		Source:  "uprobes on c10::ProfiledCPUMemoryReporter::New and Delete; tensors made since the attach",
		Through: ThroughTorch, Within: []Meter{Mapped, Heap}, Asked: true, Owned: true,
		Unknown: []UnknownKind{UnknownTorch}, Missing: []MissingKind{MissingTorch},
		Paused: []Group{TorchCPU}, BlocksPaused: []Group{TorchCPU},
		StacksPaused: []Group{Stacks, SmallStacks, CountedTensors}, Sampled: true,
	},
	{
		Meter: Arrow, ID: "cpu.arrow", Kind: Blocks, Format: 7, Doc: "cpu.arrow", OfPythons: true, Headline: 7,
		Source: "uprobes on the functions of Arrow's memory pools, their results checked; " +
			"blocks made since the attach",
		Through: ThroughArrow, Within: []Meter{Mapped, Heap}, Asked: true, Owned: true, Inside: true,
		Unknown: []UnknownKind{UnknownArrow}, Missing: []MissingKind{MissingArrow},
		Paused: []Group{ArrowPools}, BlocksPaused: []Group{ArrowPools}, StacksPaused: []Group{Stacks, SmallStacks},
		Sampled: true,
	},
	{
		Meter: OfDevice(0, Driver), ID: "driver", Kind: Blocks, Format: 2, Doc: "GPUs", Source: cudaSource,
		Through: ThroughCUDA, Headline: 2,
		Unknown: []UnknownKind{UnknownDevice}, Missing: []MissingKind{MissingDevice, MissingCUDA},
		StacksPaused: []Group{Stacks},
	},
	{
		Meter: OfDevice(0, Active), ID: "active", Kind: Total, Format: 2, Doc: "GPUs", Through: ThroughTorch,
		Headline: 3,
		Source:   "PyTorch's own total, handed to c10::reportMemoryUsageToProfiler at each allocation and free",
		Within:   []Meter{OfDevice(0, Driver)}, Asked: true, Owned: true,
		Paused: []Group{TorchTotals}, BlocksPaused: []Group{TensorStacks}, StacksPaused: []Group{TensorStacks},
		Forgotten: true,
	},
	{
		Meter: OfDevice(0, Reserved), ID: "reserved", Kind: Reserve, Format: 2, Doc: "GPUs", Through: ThroughTorch,
		Source:  "PyTorch's own total at each allocation and free, less what it gives back to the driver in between",
		Unknown: []UnknownKind{UnknownDevice}, Missing: []MissingKind{MissingDevice, MissingCUDA},
		Paused: []Group{TorchTotals},
	},
	{
		Meter: OfDevice(0, Unattributed), ID: "unattributed", Kind: Sampled, Format: 2, Doc: "GPUs",
		Through: ThroughCUDA,
		Source: "NVML's figure for the process when a cell begins and ends, " +
			"less the driver meter: sampled, not traced",
		Unknown: []UnknownKind{UnknownDevice}, Missing: []MissingKind{MissingDevice, MissingCUDA},
	},
	{ // PyTorch's allocator keeps pinned memory after the last tensor in it is freed
		Meter: Pinned, ID: "cpu.pinned", Kind: Blocks, Format: 2, Doc: "GPUs", Source: cudaSource, Through: ThroughCUDA,
		Asked:   true,
		Unknown: []UnknownKind{UnknownDevice}, Missing: []MissingKind{MissingCUDA}, StacksPaused: []Group{Stacks},
	},
	{
		Meter: Heap, ID: "cpu.heap", Kind: OfAllocator, Format: 4, Doc: "cpu.heap", OnRequest: "--heap",
		Through: ThroughAllocator,
		Source:  "uprobes on malloc, free and their relatives; blocks made since the attach, by the bytes asked for",
		Within:  []Meter{Mapped}, Unknown: []UnknownKind{UnknownHeap}, Missing: []MissingKind{MissingHeap},
		BlocksPaused: []Group{HeapStacks}, StacksPaused: []Group{HeapStacks, CountedHeap}, Forgotten: true,
	},
}

// UnknownFacts are the constant properties of an [UnknownKind]. model.Certificate has the field that counts it.
type UnknownFacts struct {
	Name string // in names of columns
	// Title is for people: "heap frees". Text follows the number of frees: "of blocks that were made before tracing
	// began".
	Title, Text string
	Boundless   bool // the bytes of these frees have no upper bound
}

var unknownTable = [UnknownKinds]UnknownFacts{
	UnknownNumPy: {Name: "numpy", Title: "frees", Text: "of memory that was taken before tracing began"},
	UnknownTorch: {
		Name: "torch", Title: "tensor frees", Text: "on the CPU, of tensors that were made before tracing began",
	},
	UnknownHeap: {Name: "heap", Title: "heap frees", Text: "of blocks that were made before tracing began"},
	UnknownDevice: {
		Name: "device", Title: "GPU frees", Text: "of memory that was taken before tracing began", Boundless: true,
	},
	UnknownArrow: {Name: "arrow", Title: "Arrow frees", Text: "of blocks that were made before tracing began"},
}

// missingTable has the names of the kinds for columns, and the Reason of the [Loss] for a full table of blocks. Older
// kinds have no Reason here: for them the kernel half counts more than full tables.
var missingTable = [MissingKinds]struct{ name, full string }{
	MissingNumPy:  {name: "numpy"},
	MissingTorch:  {name: "torch", full: "table of live tensors on the CPU full"},
	MissingHeap:   {name: "heap"},
	MissingDevice: {name: "device"},
	MissingCUDA:   {name: "cuda"},
	MissingArrow:  {name: "arrow", full: "table of live blocks of Arrow full"},
}
