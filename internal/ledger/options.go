package ledger

import (
	"cmp"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Options are the choices before loading. The zero value is the default.
type Options struct {
	ChangeRing   int  // bytes, a power of two, at least a page; 4 MiB if 0
	BoundaryRing int  // bytes, likewise; 4 MiB if 0
	Heap         bool // allocate room for malloc's blocks: 32 MiB, and 96 bytes a block; 4 MiB with Small
	SmallArrays  bool // NumPy's blocks of less than 1,024 bytes count as well
	Counters     bool // page faults and switches are read at boundaries
	SharedPages  bool // what processes copy of pages that they share since a fork is counted
	Births       bool // Pythons that processes execute are noted: see [Births]
	Small        bool // tables and rings are small, for a tracer with little memory: see [smallTables]
	OldKernel    bool // for tests: loops and tables as on kernels before 5.17 and 6.1

	HeapPage *HeapPage // the page of a command that counts malloc's blocks itself; nil: none does

	// for tests
	lingering   uint32        // number of readings of the clock by which a boundary lasts longer
	readingWait time.Duration // replaces [usualReadingWait]
	copies      uint32        // number of copies of the programs at tracepoints; 0: as many as the kernel requires
	alike       bool          // each copy does all the work
	detached    uint32        // number of first copies that are not attached; the last copy always is
	pageSize    uint32        // bytes; 0: the machine's
}

// page returns the size of a page of memory, in bytes.
func (o *Options) page() uint32 { return cmp.Or(o.pageSize, uint32(os.Getpagesize())) }

// flag returns 1 for true and 0 for false, as the kernel half's variables have it.
func flag(on bool) uint32 {
	if on {
		return 1
	}
	return 0
}

// smallTables has the numbers of entries of the largest tables with [Options.Small]. A table in the kernel takes 16
// bytes for each entry that it may have, and some 100 for each entry that it has (struct bucket and htab_elem_free in
// kernel/bpf/hashtab.c). So these tables take 6 MiB instead of 54, and the table of malloc's blocks 4 MiB instead of
// 32. Blocks that find no room are counted, as with the usual tables, and the figures without them are bounds.
var smallTables = map[string]uint32{
	"blocks": 1 << 17, "torch_blocks": 1 << 16, "cuda_objects": 1 << 16, "torch_batches": 1 << 14,
	"arrow_blocks": 1 << 16, "heap_blocks": 1 << 18, "stacks": 1 << 14, "codes": 1 << 13, "rules": 1 << 14,
	"paths": 1 << 12, "code_numbers": 1 << 12,
}

// allocatedTables has the numbers of entries, usual and with [Options.Small], of the largest tables on kernels that
// allocate all entries at the load: kernels without an allocator for BPF programs (bpf_mem_alloc). There the verifier
// refuses a growing table in a program that may sleep, and warns in the kernel's log about one in any other program
// (check_map_prog_compatibility in kernel/bpf/verifier.c of 5.15). All maps and rings then take 97 MiB instead of 80;
// with small tables 28 MiB in both cases. The table of malloc's blocks takes 80 MiB instead of 32.
var allocatedTables = map[string][2]uint32{
	"blocks": {1 << 18, 1 << 15}, "torch_blocks": {1 << 16, 1 << 13}, "arrow_blocks": {1 << 16, 1 << 13},
	"heap_blocks": {1 << 20, 1 << 18}, "cuda_objects": {1 << 16, 1 << 13}, "torch_batches": {1 << 14, 1 << 11},
	"stacks": {1 << 16, 1 << 14}, "codes": {1 << 15, 1 << 13}, "rules": {1 << 16, 1 << 14},
	"walks": {1 << 10, 1 << 7}, "threads": {1 << 12, 1 << 9},
}

// Sizes of a ring, in bytes, where no option sets another.
const (
	usualRing = 4 << 20
	smallRing = 1 << 20
)

// sizes sets the sizes of tables, and of the rings for which no option sets a size. mayGrow: tables may grow.
func (o *Options) sizes(spec *ebpf.CollectionSpec, mayGrow bool) {
	ring := usualRing
	if o.Small {
		ring = smallRing
		for name, entries := range smallTables {
			spec.Maps[name].MaxEntries = entries
		}
	}
	if !mayGrow {
		o.allocate(spec)
	}
	if !o.Births {
		spec.Maps["births"].MaxEntries = 1
	}
	if o.ChangeRing == 0 {
		o.ChangeRing = ring
	}
	if o.BoundaryRing == 0 {
		o.BoundaryRing = ring
	}
}

// allocate makes the kernel allocate the entries of all tables at the load.
func (o *Options) allocate(spec *ebpf.CollectionSpec) {
	for name, m := range spec.Maps {
		if m.Flags&unix.BPF_F_NO_PREALLOC == 0 {
			continue
		}
		m.Flags &^= unix.BPF_F_NO_PREALLOC
		if entries, large := allocatedTables[name]; large {
			m.MaxEntries = entries[flag(o.Small)]
		}
	}
}
