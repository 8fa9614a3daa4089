package holders

import (
	"context"
	"encoding/binary"
	"math"
	"testing"
	"time"
	"unicode/utf8"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

func (f *fake) listing(t testing.TB, limits objects.Limits) map[string]event.Variable {
	t.Helper()
	l, err := list(context.Background(), f.Heap, f.Memory(), everything, limits)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]event.Variable{}
	for _, n := range l.Names {
		all[n.Name] = n
	}
	return all
}

// TestList has memory that one name holds alone, that two share, and that something else has a reference to.
func TestList(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		shared := f.Refs(f.List(), 2)
		held := f.Refs(f.List(f.Str("some text")), 2)
		twice := f.Refs(f.List(f.Str("more text")), 2)
		f.Main("a", f.List(f.List(), shared), "b", f.List(shared), "held", held, "x", twice, "y", twice)
		all := f.listing(t, objects.Limits{})
		one := all["b"].Bytes
		for name, want := range map[string]struct{ bytes, reaches uint64 }{
			"b": {48 + 16, 112 + 0}, "a": {48 + 16 + 48, 160}, "held": {0, 0}, "x": {48 + 16 + 48, 0},
		} {
			got, ok := all[name]
			if !ok || got.Kind != event.HeldByVariable || got.Type != "list" || !got.Exact {
				t.Errorf("%s: %+v", name, got)
			}
			if want.bytes == 0 != (got.Bytes == 0) || got.Bytes > got.Reaches || got.Reaches == 0 {
				t.Errorf("%s: %d bytes of %d, want %+v", name, got.Bytes, got.Reaches, want)
			}
		}
		if one == 0 || all["a"].Bytes <= one || all["b"].Reaches != one+all["a"].Reaches-all["a"].Bytes {
			t.Errorf("a %+v, b %+v", all["a"], all["b"])
		}
		if len(all["x"].Also) != 1 || all["x"].Also[0] != "y" || all["b"].Length != 1 {
			t.Errorf("x %+v, b %+v", all["x"], all["b"])
		}
	})
}

// TestOutputs has one row for all names that IPython gives an output, unless a variable has it as well.
func TestOutputs(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		number := func(n uint64) uint64 {
			tag := uint64(1)
			if f.Heap.Version.Minor >= 12 {
				tag = 1 << 3
			}
			return f.Object("int", tag, n)
		}
		shown, also := f.Refs(f.List(), 3), f.Refs(f.List(), 2)
		f.Main("Out", f.Dict(number(7), shown, number(8), also), "_7", shown, "_", shown, "v", also)
		all := f.listing(t, objects.Limits{})
		if got := all["Out[7]"]; got.Kind != event.HeldByOutput || got.Bytes == 0 || len(got.Also) != 0 {
			t.Errorf("%+v", all)
		}
		if got := all["v"]; got.Kind != event.HeldByVariable || got.Bytes == 0 || len(got.Also) != 1 ||
			got.Also[0] != "Out[8]" {
			t.Errorf("%+v", all)
		}
		if _, ok := all["_7"]; ok {
			t.Error("_7 is a row of its own")
		}
	})
}

// TestAbsurdSizes has objects with claims to be larger than the process.
func TestAbsurdSizes(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		array := f.Object("numpy.ndarray", f.Block, 2, f.Alloc(32), 0, 0, f.Alloc(64), 4)
		dims := binary.LittleEndian.Uint64(f.Mem[array+32-fakeMemory:])
		f.Put(dims, 1<<40)
		f.Put(dims+8, 1<<40)
		endless, text, tuple := f.List(), f.Str("x"), f.Tuple()
		f.Put(endless+uint64(f.Heap.ListItems)+8, math.MaxUint64)
		f.Put(text+uint64(f.Heap.StrLength), 1<<62)
		f.Put(tuple+uint64(f.Heap.VarSize), 1<<45)
		for name, obj := range map[string]uint64{"array": array, "endless": endless, "text": text, "tuple": tuple} {
			f.Main(name, obj)
			l, err := list(context.Background(), f.Heap, f.Memory(),
				[]objects.Block{{Address: fakeMemory, Size: uint64(len(f.Mem))}}, objects.Limits{})
			if err != nil || l.Total > event.Bytes(len(f.Mem)) || len(l.Names) != 1 || l.Names[0].Exact ||
				l.Names[0].Bytes > 1<<16 {
				t.Errorf("%s: %+v of %d: %v", name, l, len(f.Mem), err)
			}
		}
	})
}

// TestListLimits has each limit end a listing, which is incomplete then.
func TestListLimits(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		chain := f.List()
		for range 5000 {
			chain = f.List(chain)
		}
		f.Main("chain", chain)
		for _, limits := range []objects.Limits{{Objects: 30}, {Bytes: 100_000}, {Time: 1}} {
			l, err := list(context.Background(), f.Heap, f.Memory(), everything, limits)
			if err != nil || l.Complete {
				t.Errorf("%+v: %+v, %v", limits, l, err)
			}
			for _, n := range l.Names {
				if n.Exact {
					t.Errorf("%+v: %+v", limits, n)
				}
			}
		}
		if whole := f.listing(t, objects.Limits{})["chain"]; !whole.Exact || whole.Bytes < 5000*48 {
			t.Errorf("%+v", whole)
		}
	})
}

// TestListEndlessMemory ends although every word refers to something that seems to be an object.
func TestListEndlessMemory(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		for _, word := range []uint64{f.Types["list"], f.Types["dict"], f.Types["tuple"], f.Types["other.Native"],
			f.Types["numpy.ndarray"]} {
			f.Main("x", f.Object("list", 1<<40, 1<<41, 1<<40))
			took := timed()
			_, err := list(context.Background(), f.Heap, everywhere{f.Memory(), word}, everything,
				objects.Limits{Time: 200 * time.Millisecond, Bytes: 64 << 20, Objects: 100_000})
			if took() > 5*time.Second || err != nil {
				t.Errorf("%v after %v", err, took())
			}
		}
	})
}

// FuzzList lists a process with memory that makes no sense.
func FuzzList(f *testing.F) {
	image := func(minor int) *fake {
		p := newFake(minor)
		p.Type("DataFrame", 32, 0, cpython.FlagHeapType)
		p.Type("bytearray", 56, 0, 0)
		p.Main("x", p.List(p.Array(), p.Str("text")), "s", p.Tuple(p.Object("set", 1, 1, 7, p.Alloc(128))), "d",
			p.Dict(p.Str("k"), p.List()),
			"f", p.Object("DataFrame", p.Object("other.Native", p.List(p.Array()), p.Tuple(p.Array()))), "b",
			p.Object("bytearray", 10, 11, p.Alloc(16)))
		return p
	}
	fuzzMemory(f, image, func(t *testing.T, p *fake) {
		mapped := []objects.Block{{Address: fakeMemory, Size: uint64(len(p.Mem))}}
		l, err := list(context.Background(), p.Heap, p.Memory(), mapped,
			objects.Limits{Objects: 10_000, Bytes: 16 << 20, Time: 300 * time.Millisecond})
		if err != nil {
			return
		}
		for _, n := range l.Names {
			if !utf8.ValidString(n.Name) || !utf8.ValidString(n.Type) || len(n.Type) > 3*objects.MaxName ||
				n.Bytes > l.Total ||
				len(n.Also) > objects.MaxAlso || len(n.Shape) > 64 || n.Length < -1 {
				t.Errorf("%+v of %d", n, l.Total)
			}
		}
	})
}
