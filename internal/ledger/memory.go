package ledger

import (
	"reflect"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Memory returns approximately the bytes that Linux keeps for the object's maps and rings, by their fdinfo (memlock):
// since 6.4 the present size, before that the values of all entries (bpf_map_memory_usage, kernel/bpf/syscall.c), so
// that tables which do not grow are computed. Linux charges it to the control group of the process that loaded them.
//
// A map that does not grow is read once.
func (l *Ledger) Memory() (sum int64) {
	maps := reflect.ValueOf(&l.objects.kernelMaps).Elem()
	fixed := int64(0)
	for i := range maps.NumField() {
		m, ok := maps.Field(i).Interface().(*ebpf.Map)
		if !ok || m == nil {
			continue
		}
		grows := growing(m)
		if !grows && l.fixedMemory > 0 {
			continue
		}
		bytes := allocated(m)
		if info, err := m.Info(); err == nil {
			if locked, ok := info.Memlock(); ok {
				bytes = max(bytes, int64(locked))
			}
		}
		if sum += bytes; !grows {
			fixed += bytes
		}
	}
	if l.fixedMemory == 0 {
		l.fixedMemory = fixed
		return sum
	}
	return sum + l.fixedMemory
}

// allocated returns the bytes of a table whose entries are all allocated, 0 for other maps.
func allocated(m *ebpf.Map) int64 {
	if m.Type() != ebpf.Hash && m.Type() != ebpf.LRUHash || growing(m) {
		return 0
	}
	const entry, bucket, word = 48, 16, 8 // struct htab_elem and struct bucket, kernel/bpf/hashtab.c
	round := func(size uint32) int64 { return int64(size+word-1) / word * word }
	return int64(m.MaxEntries()) * (entry + bucket + round(m.KeySize()) + round(m.ValueSize()))
}

// growing reports whether a map takes more memory the more entries it has: a table whose entries are allocated one by
// one.
func growing(m *ebpf.Map) bool { return m.Flags()&unix.BPF_F_NO_PREALLOC != 0 }

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
