package ledger

import (
	"reflect"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// TestTablesOfOldKernels: where tables cannot grow, all their entries are allocated at the load, and the bytes that the
// ledger computes for them are those that a kernel since 6.4 counts itself. Small tables take a quarter at most.
func TestTablesOfOldKernels(t *testing.T) {
	var sums []int64
	for _, small := range []bool{false, true} {
		l := load(t, Options{OldKernel: true, Small: small})
		maps := reflect.ValueOf(l.objects.kernelMaps)
		sum := int64(0)
		for i := range maps.NumField() {
			m, name := maps.Field(i).Interface().(*ebpf.Map), maps.Type().Field(i).Name
			if m.Flags()&unix.BPF_F_NO_PREALLOC != 0 {
				t.Errorf("%s grows", name)
			}
			info, err := m.Info()
			if err != nil {
				t.Fatal(err)
			}
			own := allocated(m)
			sum += own
			counted, known := info.Memlock()
			page := uint64(unix.Getpagesize())
			values := uint64(m.MaxEntries()) * uint64((m.ValueSize()+7)/8*8)
			if m.Type() != ebpf.Hash || !known || counted == (values+page-1)/page*page {
				continue // another map, or a kernel that counts only the values
			}
			if spare := int64(counted) - own; spare < 0 || spare > own/8+1<<16 {
				t.Errorf("%s: %d bytes, the kernel counts %d", name, own, counted)
			}
		}
		sums = append(sums, sum)
	}
	if sums[0] < 60<<20 || sums[0] > 80<<20 || sums[1] > sums[0]/4 {
		t.Errorf("%d bytes, and %d with small tables", sums[0], sums[1])
	}
}

// TestSmallTables: without an entry, tables that grow take their buckets: an eighth of them with small tables.
func TestSmallTables(t *testing.T) {
	var sums [2]int64
	for i, small := range []bool{false, true} {
		l := load(t, Options{Small: small, Heap: true})
		maps := reflect.ValueOf(l.objects.kernelMaps)
		for at := range maps.NumField() {
			m, name := maps.Field(at).Interface().(*ebpf.Map), maps.Type().Field(at).Name
			if !growing(m) {
				continue
			}
			sums[i] += 16 * int64(m.MaxEntries())
			if small && m.MaxEntries() > 1<<18 {
				t.Errorf("%s may have %d entries", name, m.MaxEntries())
			}
		}
	}
	if sums[1] > sums[0]/8 {
		t.Errorf("%d bytes of buckets, and %d with small tables", sums[0], sums[1])
	}
}
