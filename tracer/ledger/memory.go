package ledger

import (
	"reflect"

	"github.com/cilium/ebpf"
)

// Memory returns approximately the bytes that Linux keeps for the object's maps and rings, by their fdinfo (memlock):
// since 6.4 the present size, before that the largest one (bpf_map_memory_usage, kernel/bpf/syscall.c). Linux charges
// it to the control group of the process that loaded them.
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
		bytes := int64(0)
		if info, err := m.Info(); err == nil {
			if locked, ok := info.Memlock(); ok {
				bytes = int64(locked)
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

// growing reports whether a map takes more memory the more entries it has.
func growing(m *ebpf.Map) bool {
	switch m.Type() {
	case ebpf.Array, ebpf.PerCPUArray, ebpf.RingBuf, ebpf.ProgramArray, ebpf.PerfEventArray:
		return false
	}
	return true
}

// smallTables are the numbers of entries of the largest tables with [Options.Small]. A table in the kernel takes 16
// bytes for each entry that it may have, and some 100 for each entry that it has (struct bucket and htab_elem_free in
// kernel/bpf/hashtab.c); so the usual tables take 56 MiB, and these 6. Blocks beyond them find no room, as with the
// usual tables: they are counted, and the figures without them are bounds.
var smallTables = map[string]uint32{
	"blocks": 1 << 17, "torch_blocks": 1 << 16, "cuda_objects": 1 << 16, "torch_batches": 1 << 14,
	"stacks": 1 << 14, "codes": 1 << 13, "rules": 1 << 14, "paths": 1 << 12, "code_numbers": 1 << 12,
}

// Sizes of a ring, in bytes, where no option sets another.
const (
	usualRing = 4 << 20
	smallRing = 1 << 20
)

// sizes sets the sizes of tables, and of those rings that no option sets.
func (o *Options) sizes(spec *ebpf.CollectionSpec) {
	ring := usualRing
	if o.Small {
		ring = smallRing
		for name, entries := range smallTables {
			spec.Maps[name].MaxEntries = entries
		}
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
