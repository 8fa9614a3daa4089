package event

// Facts are the constant properties of a meter. Only this table has them: attribution, recordings and printers ask
// here. docs/recipes/meter.md says how to add a meter.
type Facts struct {
	Meter  Meter  // a GPU's meter: that of GPU 0, which stands for the same of every GPU
	ID     string // a GPU's meter: the part behind "gpu.N."
	Kind   MeterKind
	Format int    // the first recording format with this meter
	Doc    string // its section in docs/meters.md

	Source    string  // for people: the probe that serves it
	OnRequest string  // the flag that switches it on; "" if it is always on
	Through   Library // the library that must be probed, or asked, to see it
	// Always: every report has it. A report has any other meter only if its value was ever other than 0.
	Always bool
	// OfPythons: only probes in a Python see it, so other processes have no figure of it.
	OfPythons bool
	// Within are the meters of the memory that its blocks lie in.
	Within []Meter
	// Asked: the look at the end searches the objects of a Python for references to its blocks. Owned: each block
	// belongs to such an object, which frees it.
	Asked, Owned bool
	// Inside: objects of C++ alone may hold its blocks, as readers and streams do. If no Python object has a block, one
	// of these may still free it.
	Inside   bool
	Headline int // place of its column in a table for people, from 1; 0: behind those with a place

	Unknown []UnknownKind // frees of these kinds make it uncertain
	Missing []MissingKind // losses and guesses of these kinds make it uncertain

	Paused       []Group // the groups that stop it
	BlocksPaused []Group // those that stop reports of its blocks
	StacksPaused []Group // those that stop the stacks of its blocks
	// Sampled: blocks below [SampleOf] bytes may be reported as samples. The others show in the values from which the
	// meter fell.
	Sampled bool
	// Forgotten: once blocks are no longer reported, the fate of the known ones is unknown.
	Forgotten bool
}

// MeterKind says how a meter moves, and what its [Change] events report.
type MeterKind uint8

// The kinds of meters.
const (
	Pages  MeterKind = iota // page by page: a change is a value from which it fell
	Part                    // the same, of a part of [Resident]
	Ranges                  // by ranges of addresses, in changes with Block; all others as for Pages
	Blocks                  // by blocks: each change makes, resizes or frees one, and leads from one value to the next
	// OfAllocator is as Blocks where blocks are reported: by changes with Block.
	OfAllocator
	Total   // an allocator's own total: a change with Block belongs to the block that moved it
	Reserve // memory that an allocator holds from another, by its own total
	Sampled // read now and then: it has no change
)

// Library is the way in which memory is allocated.
type Library uint8

// The ways.
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
		Meter: NumPy, ID: "cpu.numpy", Kind: Blocks, Format: 1, Doc: "cpu.numpy", Always: true, OfPythons: true,
		Headline: 5,
		Source: "uprobes in NumPy or on PyTraceMalloc_Track; arrays made since the attach, " +
			"blocks of 1,024 bytes or more",
		Through: ThroughNumPy, Within: []Meter{Mapped, Heap}, Asked: true, Owned: true,
		Unknown: []UnknownKind{UnknownNumPy}, Missing: []MissingKind{MissingNumPy},
		Paused: []Group{ArrayProbes, SmallBlocks, ForeignArrays}, BlocksPaused: []Group{ArrayProbes, ForeignArrays},
		StacksPaused: []Group{Stacks, SmallStacks}, Sampled: true,
	},
	{
		Meter: Torch, ID: "cpu.torch", Kind: Blocks, Format: 5, Doc: "cpu.torch", OfPythons: true, Headline: 6,
		Source:  "uprobes on c10::ProfiledCPUMemoryReporter::New and Delete; tensors made since the attach",
		Through: ThroughTorch, Within: []Meter{Mapped, Heap}, Asked: true, Owned: true,
		Unknown: []UnknownKind{UnknownTorch}, Missing: []MissingKind{MissingTorch},
		Paused: []Group{TorchCPU}, BlocksPaused: []Group{TorchCPU}, StacksPaused: []Group{Stacks, SmallStacks},
		Sampled: true,
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
	{ // PyTorch's allocator keeps it after the last tensor in it is freed
		Meter: Pinned, ID: "cpu.pinned", Kind: Blocks, Format: 2, Doc: "GPUs", Source: cudaSource, Through: ThroughCUDA,
		Asked:   true,
		Unknown: []UnknownKind{UnknownDevice}, Missing: []MissingKind{MissingCUDA}, StacksPaused: []Group{Stacks},
	},
	{
		Meter: Heap, ID: "cpu.heap", Kind: OfAllocator, Format: 4, Doc: "cpu.heap", OnRequest: "--heap",
		Through: ThroughAllocator,
		Source:  "uprobes on malloc, free and their relatives; blocks made since the attach, by the bytes asked for",
		Within:  []Meter{Mapped}, Unknown: []UnknownKind{UnknownHeap}, Missing: []MissingKind{MissingHeap},
		BlocksPaused: []Group{HeapStacks}, StacksPaused: []Group{HeapStacks}, Forgotten: true,
	},
}

// UnknownFacts are the constant properties of an [UnknownKind]. model.Certificate says where a certificate has their
// number.
type UnknownFacts struct {
	Name        string // in names of columns
	Title, Text string // for people: "heap frees", 3 "of blocks that were made before tracing began"
	Boundless   bool   // their bytes have no upper bound
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

// missingTable has the names of the kinds for column names, and the Reason of the [Loss] for a full table of blocks.
// The older kinds have a reason of their own, because for them the kernel counts more.
var missingTable = [MissingKinds]struct{ name, full string }{
	MissingNumPy:  {name: "numpy"},
	MissingTorch:  {name: "torch", full: "table of live tensors on the CPU full"},
	MissingHeap:   {name: "heap"},
	MissingDevice: {name: "device"},
	MissingCUDA:   {name: "cuda"},
	MissingArrow:  {name: "arrow", full: "table of live blocks of Arrow full"},
}

// kinds is the number of rows of the table: the CPU's meters, and those of one GPU.
const kinds = CPUMeters + DeviceMeters

// facts has the table's rows by their meters.
var facts = func() (all [kinds]*Facts) {
	for i := range table {
		all[table[i].Meter] = &table[i]
	}
	return all
}()

// enclosing are the meters of the CPU that contain blocks of other meters.
var enclosing = func() (is [kinds]bool) {
	for _, f := range table {
		for _, m := range f.Within {
			is[m] = m < CPUMeters
		}
	}
	return is
}()

// Meters returns the facts of each meter, in the order in which a session lists their sources. Those of GPU 0 stand for
// all GPUs.
func Meters() []Facts { return table }

// Template returns the meter that has the facts and sources of a GPU's meter: the same of GPU 0.
func (m Meter) Template() Meter {
	if m < kinds {
		return m
	}
	return CPUMeters + (m-CPUMeters)%DeviceMeters
}

// Facts returns the facts of a meter below [MeterCount].
func (m Meter) Facts() *Facts { return facts[m.Template()] }

// Encloses reports whether blocks of other meters of the CPU lie in the memory of this one.
func (m Meter) Encloses() bool { return m < CPUMeters && enclosing[m] }

// String returns the meter's id, "gpu.N.driver" for the driver's of every GPU.
func (f *Facts) String() string {
	if f.Meter < CPUMeters {
		return f.ID
	}
	return "gpu.N." + f.ID
}

// InBlocks reports whether its changes have single blocks, or ranges.
func (f *Facts) InBlocks() bool {
	return f.Kind == Ranges || f.Kind == Blocks || f.Kind == OfAllocator || f.Kind == Total
}

// Chained reports whether each change of a block leads from the value before it to its own.
func (f *Facts) Chained() bool { return f.Kind == Blocks || f.Kind == OfAllocator || f.Kind == Total }

// IsBlock reports whether a change is of one block, or one range.
func (c *Change) IsBlock() bool {
	f := c.Meter.Facts()
	return c.Size != 0 && (f.Kind == Blocks || c.Block && f.InBlocks())
}

// IsTurn reports whether a change has no block: its Value is one from which the meter fell, when unreported blocks
// went.
func (c *Change) IsTurn() bool { return c.Size == 0 && c.Meter.Facts().Sampled }

// Highest returns the highest value that the meter had at a change: the new value, or the one from which it fell.
func (c *Change) Highest() Bytes {
	if c.Meter.Facts().Sampled {
		return max(c.Value, c.Value-c.Size)
	}
	return c.Value
}

// MetersOf returns the meters with a property. Those of GPU 0 stand for those of every GPU.
func MetersOf(which func(*Facts) bool) (meters []Meter) {
	for i := range table {
		if which(&table[i]) {
			meters = append(meters, table[i].Meter)
		}
	}
	return meters
}

// MetersThrough returns the meters of memory that is allocated through a library.
func MetersThrough(l Library) []Meter {
	return MetersOf(func(f *Facts) bool { return f.Through == l })
}

// Facts returns the properties of a kind.
func (k UnknownKind) Facts() *UnknownFacts { return &unknownTable[k] }

// String returns the kind's name for column names.
func (k UnknownKind) String() string { return unknownTable[k].Name }

// String returns the kind's name for column names.
func (k MissingKind) String() string { return missingTable[k].name }

// Full returns the Reason of the [Loss] for a full table of a meter's live blocks; "" where another count has it.
func (k MissingKind) Full() string { return missingTable[k].full }
