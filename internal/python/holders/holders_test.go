package holders

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ipytracer/event"
	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/hostile"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

func (f *fake) find(t testing.TB, limits objects.Limits) Result {
	t.Helper()
	r, err := find(context.Background(), f.Heap, f.Memory(), []objects.Block{{Address: f.Block, Size: 4096}}, limits)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHoldersAreFound(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		r := f.find(t, objects.Limits{})
		want := event.Holder{Address: f.Block, Kind: event.HeldByVariable, Path: "x[0][0]['key']", Root: "x",
			Type: "numpy.ndarray", References: 1}
		if len(r.Holders) != 1 || r.Holders[0] != want || !r.Complete {
			t.Errorf("got %+v, want %+v", r, want)
		}
	})
}

// TestLimitsEndAWalk has each limit end a walk, which is incomplete then.
func TestLimitsEndAWalk(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		f.Block++ // it has no holder
		chain := f.List()
		for range 5000 {
			chain = f.List(chain)
		}
		f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpModules),
			f.Dict(f.Str("m"), f.Object("module", f.Dict(f.Str("chain"), chain))))
		for _, l := range []objects.Limits{{Objects: 3}, {Bytes: 100_000}, {Time: 1}} {
			if r := f.find(t, l); r.Complete || r.Holders[0].Kind != event.HeldByNone {
				t.Errorf("%+v: %+v", l, r)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if r, err := find(ctx, f.Heap, f.Memory(), []objects.Block{{Address: f.Block, Size: 8}},
			objects.Limits{}); err != nil || r.Complete {
			t.Errorf("with a context that has ended: %+v, %v", r, err)
		}
	})
}

// TestLongPath cuts paths that are deep or have a long name.
func TestLongPath(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		deep := f.Array()
		for range 2000 {
			deep = f.Dict(f.Str(strings.Repeat("k", 300)), f.List(deep))
		}
		f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpModules),
			f.Dict(f.Str("__main__"), f.Object("module", f.Dict(f.Str("deep"), deep))))
		h := f.find(t, objects.Limits{}).Holders[0]
		if h.Kind != event.HeldByVariable || len(h.Path) > walk.MaxPath || !strings.HasPrefix(h.Path, "deep['kkk") ||
			!strings.Contains(h.Path, "…") {
			t.Errorf("%+v", h)
		}
	})
}

// TestBrokenObjectsEndAWalk breaks objects in ways that must end a walk soon.
func TestBrokenObjectsEndAWalk(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		array := f.Array()
		endless := f.List(array)
		f.Put(endless+uint64(f.Heap.ListSize), 1<<60)
		huge := f.Dict(f.Str("k"), array)
		keys := binary.LittleEndian.Uint64(f.Mem[huge+uint64(f.Heap.DictKeys)-fakeMemory:])
		f.Put(keys+24, 1<<40)
		f.Put(keys+32, 1<<31)
		self := f.List(0)
		f.Put(binary.LittleEndian.Uint64(f.Mem[self+uint64(f.Heap.ListItems)-fakeMemory:]), self)
		odd := f.Object("list", 3, 1<<63, 0)
		tb := f.Object("traceback", 0, 0)
		f.Put(tb+cpython.TracebackNext, tb)
		block := f.Alloc(8 * 66)
		f.Put(block+8*65, block) // its own neighbour
		deque := f.Object("collections.deque", 1<<60, block, 0, 63, 63)
		typ := f.Object("type", make([]uint64, 120)...)
		f.Put(typ+8, typ) // its own type, but not type
		wrong := f.Object("list")
		f.Put(wrong+8, typ)
		gc := f.Heap.Interpreter + uint64(f.Heap.InterpGC)
		loop := f.Alloc(16)
		f.Put(gc+24, loop)
		f.Put(gc+32, loop)
		f.Put(loop, loop) // a list of the collector that does not come back
		f.Put(loop+8, gc+24)
		f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpModules), f.Dict(f.Str("__main__"), f.Object("module",
			f.Dict(f.Str("odd"), odd, f.Str("self"), self, f.Str("tb"), tb, f.Str("deque"), deque, f.Str("wrong"),
				wrong, f.Str("typ"), typ,
				f.Str("endless"), endless, f.Str("huge"), huge))))
		took := timed()
		r := f.find(t, objects.Limits{})
		if took() > 20*time.Second {
			t.Errorf("it took %v", took())
		}
		if h := r.Holders[0]; h.Kind != event.HeldByVariable || h.Path != "endless[0]" {
			t.Errorf("%+v", h)
		}
		f.Block++
		f.find(t, objects.Limits{Objects: 100_000, Time: time.Second}) // must come back
	})
}

// everywhere is memory that is the same at every address and never ends: each word refers to its own place.
type everywhere struct {
	elftest.Memory
	word uint64
}

func (e everywhere) ReadAt(buf []byte, off int64) (int, error) {
	if n, err := e.Memory.ReadAt(buf, off); err == nil {
		return n, nil
	}
	for i := range buf {
		buf[i] = byte(e.word >> (8 * (i % 8)))
	}
	return len(buf), nil
}

func TestEndlessMemory(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		for _, word := range []uint64{f.Types["list"], f.Types["dict"], f.Types["tuple"], f.Types["other.Native"],
			1 << 40} {
			list := f.Object("list", 1<<40, 1<<41, 1<<40)
			f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpModules),
				f.Dict(f.Str("__main__"), f.Object("module", f.Dict(f.Str("x"), list))))
			took := timed()
			_, err := find(context.Background(), f.Heap, everywhere{f.Memory(), word},
				[]objects.Block{{Address: 3, Size: 1}},
				objects.Limits{Time: 200 * time.Millisecond, Bytes: 64 << 20})
			if took() > 5*time.Second || err != nil {
				t.Errorf("%v after %v", err, took())
			}
		}
	})
}

// fuzzMemory overwrites bytes of the memory of a process of each version, and has it looked at.
func fuzzMemory(f *testing.F, newImage func(minor int) *fake, look func(t *testing.T, p *fake)) {
	for minor := byte(0); minor < 7; minor++ {
		f.Add(minor, []byte{0, 0, 8, 0xff, 1, 0, 0x20, 1})
		f.Add(minor, []byte{0x10, 0x27, 0xff, 0x7f, 0xe8, 3, 0, 0x80, 0x88, 0x13, 1, 0})
		f.Add(minor, []byte{})
	}
	var images [7]*fake
	for i := range images {
		images[i] = newImage(9 + i)
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, version byte, edits []byte) {
		image := *images[int(version)%len(images)].Python
		image.Mem = slices.Clone(image.Mem)
		p := &fake{&image}
		// a place from the end, where the objects are, and one from the beginning
		for ; len(edits) >= 4; edits = edits[4:] {
			at := int(binary.LittleEndian.Uint16(edits)) % len(p.Mem)
			p.Mem[len(p.Mem)-1-at] = edits[2]
			p.Mem[at] = edits[3]
		}
		look(t, p)
	})
}

// FuzzHolders walks a process with memory that makes no sense.
func FuzzHolders(f *testing.F) {
	fuzzMemory(f, newFake, func(t *testing.T, p *fake) {
		r, err := find(context.Background(), p.Heap, p.Memory(), []objects.Block{{Address: p.Block, Size: 4096},
			{Address: fakeMemory, Size: 16}, {Address: 5, Size: 1}},
			objects.Limits{Objects: 10_000, Bytes: 16 << 20, Time: 300 * time.Millisecond})
		if err != nil {
			return
		}
		if len(r.Holders) != 3 {
			t.Fatalf("%d holders", len(r.Holders))
		}
		for _, h := range r.Holders {
			if len(h.Path) > walk.MaxPath || !utf8.ValidString(h.Path) || !utf8.ValidString(h.Type) ||
				len(h.Type) > 3*objects.MaxName || len(h.Function) > 4*objects.MaxText || h.Line < 0 {
				t.Errorf("%+v", h)
			}
		}
	})
}
