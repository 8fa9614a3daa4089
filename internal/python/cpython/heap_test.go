package cpython

import "testing"

// TestHeapTable compares the table with the offsets that the builds from 3.13 on have about themselves.
func TestHeapTable(t *testing.T) {
	eachBuild(t, func(t *testing.T, b build, bin *Binary) {
		if bin.debug == nil || bin.FreeThreaded() {
			t.Skip("before 3.13 a build does not say, and there is no table of those without the GIL")
		}
		o, err := bin.Offsets()
		if err != nil {
			t.Fatal(err)
		}
		table := heapTable(o, b.minor)
		said := table
		bin.debug.applyHeap(&said)
		if said != table {
			t.Errorf("the build says %+v, the table %+v", said, table)
		}
	})
}
