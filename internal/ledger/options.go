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
	Births       bool // Pythons that processes execute are noted: see [Births]
	Small        bool // tables and rings for a tracer that may use little memory: see [smallTables]
	OldKernel    bool // make loops and tables as on kernels before 5.17 and 6.1, for tests

	// for tests
	lingering   uint32        // boundaries last longer by this many readings of the clock
	readingWait time.Duration // instead of [usualReadingWait]
	copies      uint32        // of the programs at tracepoints; 0: as many as the kernel requires
	alike       bool          // each copy does all the work
	detached    uint32        // this many of the first copies are not attached, but the last one always is
	pageSize    uint32        // bytes; 0: the machine's
}

// page returns the size of a page of memory, in bytes.
func (o *Options) page() uint32 { return cmp.Or(o.pageSize, uint32(os.Getpagesize())) }

// flag returns a condition in BPF's form.
func flag(on bool) uint32 {
	if on {
		return 1
	}
	return 0
}

// smallTables are the numbers of entries of the largest tables with [Options.Small]. A table in the kernel takes 16
// bytes for each entry that it may have, and some 100 for each entry that it has (struct bucket and htab_elem_free in
// kernel/bpf/hashtab.c); so the usual tables take 54 MiB, and these 6; room for malloc's blocks takes 32 MiB, and 4.
// Blocks beyond them find no room, as with the usual tables: they are counted, and the figures without them are bounds.
var smallTables = map[string]uint32{
	"blocks": 1 << 17, "torch_blocks": 1 << 16, "cuda_objects": 1 << 16, "torch_batches": 1 << 14,
	"arrow_blocks": 1 << 16, "heap_blocks": 1 << 18, "stacks": 1 << 14, "codes": 1 << 13, "rules": 1 << 14,
	"paths": 1 << 12, "code_numbers": 1 << 12,
}

// allocatedTables are the numbers of entries, usual and with [Options.Small], of the largest tables where all entries
// are allocated at the load: where the kernel has no allocator for BPF programs (bpf_mem_alloc). There the verifier
// refuses a table that grows in a program that may sleep, and warns in the kernel's log about one in any other program
// (check_map_prog_compatibility in kernel/bpf/verifier.c of 5.15). All maps and rings take 97 MiB then instead of 80,
// and 31 with small tables, as without; room for malloc's blocks takes 80 MiB instead of 32.
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

// sizes sets the sizes of tables, and of those rings that no option sets. growing: tables may grow.
func (o *Options) sizes(spec *ebpf.CollectionSpec, growing bool) {
	ring := usualRing
	if o.Small {
		ring = smallRing
		for name, entries := range smallTables {
			spec.Maps[name].MaxEntries = entries
		}
	}
	if !growing {
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

// allocate has the entries of all tables allocated at the load.
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
