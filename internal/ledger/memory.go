package ledger

import (
	"reflect"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Memory returns approximately the bytes that Linux keeps for the object's maps and rings, by their fdinfo (memlock).
// Since Linux 6.4 fdinfo has the present size. Before, it has only the values of all entries (bpf_map_memory_usage,
// kernel/bpf/syscall.c), so Memory computes the size of tables that do not grow. Linux charges the memory to the
// control group of the process that loaded the maps.
//
// Memory reads a map that does not grow only once.
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
