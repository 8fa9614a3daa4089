package event

import "slices"

// Facts is what is known of a meter beforehand. This table is the only place that has it: what follows events, records and prints them asks here.
// How a meter is added: CONTRIBUTING.md.
type Facts struct {
	Meter  Meter  // of a GPU's meters that of GPU 0, which stands for the same of every GPU
	ID     string // of a GPU's meters what follows "gpu.N."
	Kind   MeterKind
	Format int    // the recording format that has it first
	Doc    string // its section in docs/meters.md

	Source    string  // for people: the probe that serves it
	OnRequest string  // the flag without which it is not served
	Through   Library // what must be probed, or asked, to see it
	// Always: every report has it. The others are there once they have been other than 0.
	Always bool
	// OfPythons: only a Python's own probes see it, so that no other process has a figure of it.
	OfPythons bool
	// Within are the meters that have memory in which its blocks lie.
	Within []Meter
	// Asked: what refers to its blocks is looked for in the objects of a Python. Owned: such an object has each, and frees it.
	Asked, Owned bool
	// Inside: objects of C++ alone may have its blocks, as readers and streams do. That no object was found to have
	// one does not say that none will free it.
	Inside   bool
	Headline int // where its column is in a table for people, from 1; 0: behind those that have a place

	Unknown []UnknownKind // by what was freed without having been seen to be made it may be off
	Missing []MissingKind // by what found no room, or was guessed, it may be off

	Paused   []string // the Text of each [MeterShed] from which on it stands still
	Untold   []string // of each from which on its blocks are not told
	Unwalked []string // of each from which on it is not looked who makes them
	// Sampled: blocks below [SampleOf] bytes may be told as samples. Those that are not told show by the values from which the meter fell.
	Sampled bool
	// Forgotten: what becomes of the blocks that are known when they are not told any more is not known.
	Forgotten bool
}

// MeterKind says how a meter moves, and what a [Change] tells of it.
type MeterKind uint8

// The kinds of meters.
const (
	Pages  MeterKind = iota // page by page: a change is a value from which it fell
	Part                    // the same, of a part of [Resident]
	Ranges                  // by ranges of addresses, told by changes with Block; all others as of Pages
	Blocks                  // by blocks: each change makes, resizes or frees one, and leads from one value to the next
	// OfAllocator is as Blocks, where blocks are told: by changes with Block.
	OfAllocator
	Total   // an allocator's own total: a change with Block is of the block that moved it
	Reserve // what an allocator holds from another, by its own total
	Sampled // looked at now and then: no change tells of it
)

// Library is what memory is taken through.
type Library uint8

// What memory is taken through.
const (
	ThroughKernel Library = iota
	ThroughNumPy
	ThroughTorch
	ThroughCUDA
	ThroughAllocator
	ThroughArrow
)

const (
	cudaSource = "uprobes on the exported functions of libcuda.so.1, return codes checked; memory taken since the attach"
	rssSource  = "tracepoint kmem:rss_stat, the kernel's per-CPU counters"
)

// The meters, in the order in which a session says what serves them.
var table = []Facts{
	{
		Meter: Mapped, ID: "cpu.mapped", Kind: Ranges, Format: 1, Doc: "cpu.mapped", Always: true, Headline: 4,
		Source: "mm->data_vm, read under mmap_lock at tracepoint mmap_lock:mmap_lock_released",
		Untold: []string{MappedStacks}, Unwalked: []string{MappedStacks, SmallStacks},
	},
	{Meter: Resident, ID: "cpu.resident", Kind: Pages, Format: 1, Doc: "cpu.resident", Source: rssSource, Always: true, Headline: 1},
	{Meter: ResidentAnon, ID: "cpu.resident.anon", Kind: Part, Format: 1, Doc: "cpu.resident", Source: rssSource, Always: true},
	{Meter: ResidentFile, ID: "cpu.resident.file", Kind: Part, Format: 1, Doc: "cpu.resident", Source: rssSource, Always: true},
	{Meter: ResidentShmem, ID: "cpu.resident.shmem", Kind: Part, Format: 1, Doc: "cpu.resident", Source: rssSource, Always: true},
	{
		Meter: NumPy, ID: "cpu.numpy", Kind: Blocks, Format: 1, Doc: "cpu.numpy", Always: true, OfPythons: true, Headline: 5,
		Source:  "uprobes in NumPy or on PyTraceMalloc_Track; arrays made since the attach, blocks of 1,024 bytes or more",
		Through: ThroughNumPy, Within: []Meter{Mapped, Heap}, Asked: true, Owned: true,
		Unknown: []UnknownKind{UnknownNumPy}, Missing: []MissingKind{MissingNumPy},
		Paused: []string{ArrayProbes, SmallBlocks, ForeignArrays}, Untold: []string{ArrayProbes, ForeignArrays}, Unwalked: []string{Stacks, SmallStacks},
		Sampled: true,
	},
	{
		Meter: Torch, ID: "cpu.torch", Kind: Blocks, Format: 5, Doc: "cpu.torch", OfPythons: true, Headline: 6,
		Source:  "uprobes on c10::ProfiledCPUMemoryReporter::New and Delete; tensors made since the attach",
		Through: ThroughTorch, Within: []Meter{Mapped, Heap}, Asked: true, Owned: true,
		Unknown: []UnknownKind{UnknownTorch}, Missing: []MissingKind{MissingTorch},
		Paused: []string{TorchCPU}, Untold: []string{TorchCPU}, Unwalked: []string{Stacks, SmallStacks}, Sampled: true,
	},
	{
		Meter: Arrow, ID: "cpu.arrow", Kind: Blocks, Format: 7, Doc: "cpu.arrow", OfPythons: true, Headline: 7,
		Source:  "uprobes on the functions of Arrow's memory pools, their results checked; blocks made since the attach",
		Through: ThroughArrow, Within: []Meter{Mapped, Heap}, Asked: true, Owned: true, Inside: true,
		Unknown: []UnknownKind{UnknownArrow}, Missing: []MissingKind{MissingArrow},
		Paused: []string{ArrowPools}, Untold: []string{ArrowPools}, Unwalked: []string{Stacks, SmallStacks}, Sampled: true,
	},
	{
		Meter: OfDevice(0, Driver), ID: "driver", Kind: Blocks, Format: 2, Doc: "GPUs", Source: cudaSource, Through: ThroughCUDA, Headline: 2,
		Unknown: []UnknownKind{UnknownDevice}, Missing: []MissingKind{MissingDevice, MissingCUDA}, Unwalked: []string{Stacks},
	},
	{
		Meter: OfDevice(0, Active), ID: "active", Kind: Total, Format: 2, Doc: "GPUs", Through: ThroughTorch, Headline: 3,
		Source: "PyTorch's own total, handed to c10::reportMemoryUsageToProfiler at each allocation and free",
		Within: []Meter{OfDevice(0, Driver)}, Asked: true, Owned: true,
		Paused: []string{TorchTotals}, Untold: []string{TensorStacks}, Unwalked: []string{TensorStacks}, Forgotten: true,
	},
	{
		Meter: OfDevice(0, Reserved), ID: "reserved", Kind: Reserve, Format: 2, Doc: "GPUs", Through: ThroughTorch,
		Source:  "PyTorch's own total at each allocation and free, less what it gives back to the driver in between",
		Unknown: []UnknownKind{UnknownDevice}, Missing: []MissingKind{MissingDevice, MissingCUDA}, Paused: []string{TorchTotals},
	},
	{
		Meter: OfDevice(0, Unattributed), ID: "unattributed", Kind: Sampled, Format: 2, Doc: "GPUs", Through: ThroughCUDA,
		Source:  "NVML's figure for the process when a cell begins and ends, less the driver meter: sampled, not traced",
		Unknown: []UnknownKind{UnknownDevice}, Missing: []MissingKind{MissingDevice, MissingCUDA},
	},
	{ // PyTorch's allocator keeps it when no tensor has it any more
		Meter: Pinned, ID: "cpu.pinned", Kind: Blocks, Format: 2, Doc: "GPUs", Source: cudaSource, Through: ThroughCUDA, Asked: true,
		Unknown: []UnknownKind{UnknownDevice}, Missing: []MissingKind{MissingCUDA}, Unwalked: []string{Stacks},
	},
	{
		Meter: Heap, ID: "cpu.heap", Kind: OfAllocator, Format: 4, Doc: "cpu.heap", OnRequest: "--heap", Through: ThroughAllocator,
		Source: "uprobes on malloc, free and their relatives; blocks made since the attach, by the bytes asked for",
		Within: []Meter{Mapped}, Unknown: []UnknownKind{UnknownHeap}, Missing: []MissingKind{MissingHeap},
		Untold: []string{HeapStacks}, Unwalked: []string{HeapStacks}, Forgotten: true,
	},
}

// UnknownFacts is what is known of a kind of frees of what was not seen to be made. Where a certificate has their number: model.Certificate.
type UnknownFacts struct {
	Name        string // in names of columns
	Title, Text string // for people: "heap frees", 3 "of blocks that were made before tracing began"
	Boundless   bool   // nobody can say how many bytes they were
}

var unknownTable = [UnknownKinds]UnknownFacts{
	UnknownNumPy:  {Name: "numpy", Title: "frees", Text: "of memory that was taken before tracing began"},
	UnknownTorch:  {Name: "torch", Title: "tensor frees", Text: "on the CPU, of tensors that were made before tracing began"},
	UnknownHeap:   {Name: "heap", Title: "heap frees", Text: "of blocks that were made before tracing began"},
	UnknownDevice: {Name: "device", Title: "GPU frees", Text: "of memory that was taken before tracing began", Boundless: true},
	UnknownArrow:  {Name: "arrow", Title: "Arrow frees", Text: "of blocks that were made before tracing began"},
}

// missingTable has the kinds' names in names of columns, and the Reason of the [Loss] that a table of blocks was full. Older ones have a reason of
// their own, as the kernel counts more there.
var missingTable = [MissingKinds]struct{ name, full string }{
	MissingNumPy:  {name: "numpy"},
	MissingTorch:  {name: "torch", full: "table of live tensors on the CPU full"},
	MissingHeap:   {name: "heap"},
	MissingDevice: {name: "device"},
	MissingCUDA:   {name: "cuda"},
	MissingArrow:  {name: "arrow", full: "table of live blocks of Arrow full"},
}

// kinds is how many rows the table has: the CPU's meters, and those of one GPU.
const kinds = CPUMeters + DeviceMeters

// facts has the table's rows by their meters.
var facts = func() (all [kinds]*Facts) {
	for i := range table {
		all[table[i].Meter] = &table[i]
	}
	return all
}()

// enclosing are the meters of the CPU in whose memory blocks of others lie.
var enclosing = func() (is [kinds]bool) {
	for _, f := range table {
		for _, m := range f.Within {
			is[m] = m < CPUMeters
		}
	}
	return is
}()

// Meters returns what is known of each meter, those of GPU 0 for all of them, in the order in which a session says what serves them.
func Meters() []Facts { return table }

// Template is the meter that stands for the same of every GPU where facts and sources are told: that of GPU 0.
func (m Meter) Template() Meter {
	if m < kinds {
		return m
	}
	return CPUMeters + (m-CPUMeters)%DeviceMeters
}

// Facts returns what is known of a meter below [MeterCount].
func (m Meter) Facts() *Facts { return facts[m.Template()] }

// Encloses says whether blocks of other meters of the CPU lie in the memory of this one.
func (m Meter) Encloses() bool { return m < CPUMeters && enclosing[m] }

// String is the meter's id, "gpu.N.driver" for the driver's of every GPU.
func (f *Facts) String() string {
	if f.Meter < CPUMeters {
		return f.ID
	}
	return "gpu.N." + f.ID
}

// InBlocks says whether changes tell single blocks, or ranges, of it.
func (f *Facts) InBlocks() bool {
	return f.Kind == Ranges || f.Kind == Blocks || f.Kind == OfAllocator || f.Kind == Total
}

// Chained says whether each change of a block says from which value it led to which.
func (f *Facts) Chained() bool { return f.Kind == Blocks || f.Kind == OfAllocator || f.Kind == Total }

// IsBlock says whether a change is of one block, or one range.
func (c *Change) IsBlock() bool {
	f := c.Meter.Facts()
	return c.Size != 0 && (f.Kind == Blocks || c.Block && f.InBlocks())
}

// IsTurn says whether a change is of no block: its value is one that the meter fell from, as blocks went that were not told.
func (c *Change) IsTurn() bool { return c.Size == 0 && c.Meter.Facts().Sampled }

// Highest is the highest value that a change says its meter had: what it leads to, or falls from.
func (c *Change) Highest() Bytes {
	if c.Meter.Facts().Sampled {
		return max(c.Value, c.Value-c.Size)
	}
	return c.Value
}

// MetersOf returns the meters of which something holds, those of GPU 0 for the same of every GPU.
func MetersOf(which func(*Facts) bool) (meters []Meter) {
	for i := range table {
		if which(&table[i]) {
			meters = append(meters, table[i].Meter)
		}
	}
	return meters
}

// MetersThrough returns the meters of what is taken through a library.
func MetersThrough(l Library) []Meter {
	return MetersOf(func(f *Facts) bool { return f.Through == l })
}

// Paused returns the meters that stand still from a [MeterShed] with this Text on; of GPUs every one's.
func Paused(text string) (meters []Meter) {
	for m := range Meter(MeterCount) {
		if slices.Contains(m.Facts().Paused, text) {
			meters = append(meters, m)
		}
	}
	return meters
}

// IsOfStacks says whether the Text of a [MeterShed] is about stacks, or about blocks that are told for their stacks' sake.
func IsOfStacks(text string) bool {
	return text == NativeStacks || slices.ContainsFunc(table, func(f Facts) bool { return slices.Contains(f.Unwalked, text) })
}

// Facts returns what is known of a kind.
func (k UnknownKind) Facts() *UnknownFacts { return &unknownTable[k] }

// String is the kind's name in names of columns.
func (k UnknownKind) String() string { return unknownTable[k].Name }

// String is the kind's name in names of columns.
func (k MissingKind) String() string { return missingTable[k].name }

// Full is the Reason of a [Loss]: the table of a meter's live blocks had no room; "" where it is counted otherwise.
func (k MissingKind) Full() string { return missingTable[k].full }
