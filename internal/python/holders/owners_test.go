package holders

import (
	"context"
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// bigText is a text of so many bytes.
func (f *fake) bigText(n int) uint64 {
	addr := f.Object("str", make([]uint64, 16+n/8)...)
	f.Put(addr+uint64(f.Heap.StrLength), uint64(n))
	f.Mem[addr+uint64(f.Heap.StrState)-fakeMemory] = 1<<2 | 3<<5
	return addr
}

// TestMemoryThatTwoNamesHold has memory that two names hold together, that a cycle holds, and that a cycle holds which
// the collector does not see: that goes with no name.
func TestMemoryThatTwoNamesHold(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		const size = 200_000
		number := func(n uint64) uint64 {
			tag := uint64(1)
			if f.Heap.Version.Minor >= 12 {
				tag = 1 << 3
			}
			return f.Object("int", tag, n)
		}
		both := f.Refs(f.List(f.bigText(size)), 3)
		a, b := f.List(both), f.List(both)
		alone := f.List(f.bigText(2 * size))
		shown := f.Refs(f.List(both), 3)
		cycle := f.Refs(f.List(0, f.bigText(3*size)), 2)
		f.Put(f.Word(cycle+uint64(f.Heap.ListItems)), cycle)
		hidden := f.Refs(f.List(0, f.bigText(4*size)), 2)
		f.Put(f.Word(hidden+uint64(f.Heap.ListItems)), f.Objects("numpy.ndarray", hidden))
		f.Put(f.Types["list"]+cpython.TypeFlags, cpython.FlagGC|cpython.FlagList)
		f.Main("a", a, "b", b, "alone", alone, "cycle", cycle, "hidden", hidden, "again", shown,
			"Out", f.Dict(number(7), shown), "_7", shown)
		l, err := list(context.Background(), f.Heap, f.Memory(), everything, objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		names := func(s event.Share) (out []string) {
			for _, o := range s.Owners {
				if at := l.Owners[o].Variable; at >= 0 {
					out = append(out, l.Names[at].Name)
				}
			}
			slices.Sort(out)
			return out
		}
		for _, want := range []struct {
			names  []string
			bytes  event.Bytes
			cyclic bool
		}{{[]string{"cycle"}, 3 * size, true}, {[]string{"alone"}, 2 * size, false},
			{[]string{"a", "again", "b"}, size, false}} {
			i := slices.IndexFunc(l.Shares, func(s event.Share) bool { return slices.Equal(names(s), want.names) })
			if i < 0 || l.Shares[i].Bytes < want.bytes || l.Shares[i].Bytes > want.bytes+2000 || !l.Shares[i].Exact ||
				(l.Shares[i].Cyclic == l.Shares[i].Bytes) != want.cyclic {
				t.Errorf("%v: %+v", want, l.Shares)
			}
		}
		if i := slices.IndexFunc(l.Shares, func(s event.Share) bool { return s.Bytes >= 4*size }); i >= 0 {
			t.Errorf("a share of %+v", l.Shares[i])
		}
		i := slices.IndexFunc(l.Owners, func(o event.Owner) bool { return o.Kept })
		if i < 0 || !slices.Equal(l.Owners[i].Names, []string{"again"}) || l.Owners[i].Output != "_7" ||
			l.Owners[i].Kind != event.HeldByVariable {
			t.Errorf("owners: %+v", l.Owners)
		}
	})
}
