package holders

import (
	"context"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/python/holders/objects"
)

// arrowBlock is the block that a pool has handed out.
const arrowBlock, arrowBytes = 0x7100_0000_0000, 80_000

// arrowFake is a process with objects of pyarrow's in it.
type arrowFake struct {
	*fake
	classes map[string]uint64
	other   bool // malloc is not glibc's: nothing shows how large a piece is
}

func newArrowFake(f *fake) *arrowFake {
	for _, name := range []string{"Table", "ChunkedArray", "Array"} {
		f.Type("pyarrow.lib."+name, 80, 0, 0)
	}
	return &arrowFake{fake: f, classes: map[string]uint64{}}
}

// class makes a table of virtual functions with run-time type information, and returns where it is.
func (f *arrowFake) class(name string) uint64 {
	if f.classes[name] == 0 {
		info := f.Alloc(16)
		f.Put(info, 1)
		f.Put(info+8, f.CString(name))
		table := f.Alloc(32)
		f.Put(table+8, info)
		f.classes[name] = table + 16
	}
	return f.classes[name]
}

// chunk is a piece of glibc's malloc with these words.
func (f *arrowFake) chunk(words ...uint64) uint64 {
	size := max(uint64(8*len(words))+8+15, 32) &^ 15
	at := f.Alloc(int(size)+32) + 16
	if !f.other {
		f.Put(at-8, size|1)
		f.Put(at-8+size, 32|1)
	}
	for i, w := range words {
		f.Put(at+uint64(8*i), w)
	}
	return at
}

// shared is an object of Arrow's as std::make_shared has it: its address, and its counts'.
func (f *arrowFake) shared(class string, words ...uint64) (object, counts uint64) {
	counts = f.chunk(append([]uint64{f.class("St23_Sp_counted_ptr_inplaceIN5arrow" + class + "ESaIvEE"), 1<<32 | 1},
		words...)...)
	return counts + 16, counts
}

// vector has the words of a std::vector of shared pointers in an object.
func (f *arrowFake) vector(pointers ...uint64) []uint64 {
	at := f.chunk(pointers...)
	end := at + uint64(8*len(pointers))
	return []uint64{at, end, end}
}

// pool is a buffer of a pool.
func (f *arrowFake) pool(data, size, capacity uint64) (object, counts uint64) {
	return f.shared("10PoolBufferE", f.class("N5arrow10PoolBufferE"), 1, data, size, capacity, 0, 0, 0)
}

// table is an object of pyarrow's with one column of one chunk of int64, by the length and the offset in its data.
func (f *arrowFake) table(length, offset uint64, buffers ...uint64) (obj, chunks uint64) {
	kind, kindCounts := f.shared("9Int64TypeE", f.class("N5arrow9Int64TypeE"), 0, 0)
	data, dataCounts := f.shared("9ArrayDataE",
		append([]uint64{kind, kindCounts, length, 0, offset}, append(f.vector(buffers...), 0, 0, 0, 0, 0)...)...)
	array, arrayCounts := f.shared("12NumericArrayINS_9Int64TypeEE", f.class("N5arrow12NumericArrayINS_9Int64TypeEEE"),
		data, dataCounts, 0)
	column, columnCounts := f.shared("12ChunkedArrayE",
		append(f.vector(array, arrayCounts), kind, kindCounts, length, 0)...)
	whole, wholeCounts := f.shared("11SimpleTableE",
		append([]uint64{f.class("N5arrow11SimpleTableE"), 0, 0, length}, f.vector(column, columnCounts)...)...)
	return f.Object("pyarrow.lib.Table", whole, wholeCounts, 0, 0, 0, 0, 0, 0), column
}

// looks surveys, and returns the holder of the block and the memory that only views have.
func (f *arrowFake) looks(t testing.TB, from io.ReaderAt, limits objects.Limits) Result {
	t.Helper()
	s, err := newSurvey(context.Background(), f.Heap, from, Process{Mapped: everything}, limits)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	limits.Unseen = true
	r, err := s.Find(context.Background(), []objects.Block{{Address: arrowBlock, Size: arrowBytes}}, limits)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestArrowHolders: a table holds a buffer of a pool, and is a view of it where it uses little and nothing else has it.
// An object with impossible fields is no view and adds nothing to the listing: no buffer smaller than its size, no
// pointer without counts of libstdc++'s.
func TestArrowHolders(t *testing.T) {
	for name, c := range map[string]struct {
		length, offset uint64
		spoil          func(f *arrowFake, buffer, counts uint64)
		counts, view   bool
	}{
		"a table": {10_000, 0, nil, true, false},
		"a slice": {10, 3, nil, true, true},
		"others have it, too": {10, 3, func(f *arrowFake, _, counts uint64) { f.Put(counts+8, 1<<32|2) },
			false, false},
		"more references than it says": {10, 3, func(f *arrowFake, _, counts uint64) { f.Put(counts+8, 1<<32) },
			false, false},
		"references beyond all reason": {10, 3, func(f *arrowFake, _, counts uint64) { f.Put(counts+8, 1<<31) },
			false, false},
		"counts of another class": {10, 3,
			func(f *arrowFake, _, counts uint64) { f.Put(counts, f.class("N5other5ThingE")) }, false, false},
		"counts without a class": {10, 3, func(f *arrowFake, _, counts uint64) { f.Put(counts, counts) },
			false, false},
		"a buffer that is too small": {10, 3, func(f *arrowFake, b, _ uint64) { f.Put(b+objects.BufferCapacity, 100) },
			false, false},
		"a capacity beyond all memory": {10, 3, func(f *arrowFake, b, _ uint64) {
			f.Put(b+objects.BufferCapacity,
				1<<63)
		},
			false, false},
		"data of the kernel's": {10, 3,
			func(f *arrowFake, b, _ uint64) { f.Put(b+objects.BufferData, 0xffff_8000_0000_0000) }, false, false},
		"more rows than there are":      {1 << 46, 3, nil, true, false},
		"rows without end":              {1 << 63, 1 << 63, nil, true, false},
		"rows whose bytes do not count": {1 << 61, 0, nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, plain *fake) {
				f := newArrowFake(plain)
				buffer, counts := f.pool(arrowBlock, arrowBytes, arrowBytes)
				obj, _ := f.table(c.length, c.offset, 0, 0, buffer, counts)
				if c.spoil != nil {
					c.spoil(f, buffer, counts)
				}
				f.Main("t", obj)
				r := f.looks(t, f.Memory(), objects.Limits{})
				if h := r.Holders[0]; !r.Complete || c.counts && (h.Kind != event.HeldByVariable || h.Path != "t") {
					t.Errorf("complete: %v, %+v", r.Complete, h)
				}
				if v := f.listing(t, objects.Limits{})["t"]; (v.Bytes >= arrowBytes) != c.counts ||
					v.Bytes > 2*arrowBytes {
					t.Errorf("listed %+v", v)
				}
				if (len(r.Views) > 0) != c.view {
					t.Errorf("views %+v", r.Views)
				}
			})
		})
	}
}

// TestArrowOtherMalloc: objects that lead to buffers are followed where nothing shows how large an object is.
func TestArrowOtherMalloc(t *testing.T) {
	eachVersion(t, func(t *testing.T, plain *fake) {
		f := newArrowFake(plain)
		f.other = true
		buffer, counts := f.pool(arrowBlock, arrowBytes, arrowBytes)
		obj, _ := f.table(10, 3, 0, 0, buffer, counts)
		f.Main("t", obj)
		r := f.looks(t, f.Memory(), objects.Limits{})
		if h := r.Holders[0]; h.Kind != event.HeldByVariable || h.Path != "t" || h.Probable || len(r.Views) != 1 {
			t.Errorf("%+v, views %+v", h, r.Views)
		}
	})
}

// TestArrowCycle: chunks that lead back to their table, and to themselves, are gone through once.
func TestArrowCycle(t *testing.T) {
	eachVersion(t, func(t *testing.T, plain *fake) {
		f := newArrowFake(plain)
		buffer, counts := f.pool(arrowBlock, arrowBytes, arrowBytes)
		obj, column := f.table(10_000, 0, 0, 0, buffer, counts)
		whole, wholeCounts := f.Word(obj+16), f.Word(obj+24)
		back := f.vector(whole, wholeCounts, column, column-16, buffer, counts)
		for i, w := range back {
			f.Put(column+uint64(8*i), w)
		}
		f.Main("t", obj, "l", f.List(obj, obj))
		took := timed()
		r := f.looks(t, f.Memory(), objects.Limits{})
		if h := r.Holders[0]; !r.Complete || h.Kind != event.HeldByVariable || len(r.Views) > 0 ||
			took() > 5*time.Second {
			t.Errorf("after %v: %+v", took(), r)
		}
		if _, listed := f.listing(t, objects.Limits{})["t"]; !listed {
			t.Error("it is not listed")
		}
	})
}

// chunks is memory with any number of shared pointers, each to another object.
type chunks struct {
	elftest.Memory
	class uint64 // of the counts
}

const firstChunk, chunkSpan = 0x1000_0000_0000, 0x40

func (c chunks) ReadAt(buf []byte, off int64) (int, error) {
	if n, err := c.Memory.ReadAt(buf, off); err == nil || off < firstChunk {
		return n, err
	}
	for i := 0; i+8 <= len(buf); i += 8 {
		at, word := uint64(off)+uint64(i), uint64(0)
		if at < 2*firstChunk { // the vector: an object, and its counts
			if word = 2*firstChunk + (at-firstChunk)/16*chunkSpan; at%16 == 0 {
				word += 16
			}
		} else { // counts, and behind them nothing
			switch at % chunkSpan {
			case 0:
				word = c.class
			case 8:
				word = 1<<32 | 1
			case chunkSpan - 8:
				word = chunkSpan | 1
			}
		}
		for j := range 8 {
			buf[i+j] = byte(word >> (8 * j))
		}
	}
	return len(buf), nil
}

// TestArrowEndless: a table with a claim of billions of chunks ends the look at its limits. Memory that was not looked
// at does not count as nobody's.
func TestArrowEndless(t *testing.T) {
	eachVersion(t, func(t *testing.T, plain *fake) {
		f := newArrowFake(plain)
		buffer, counts := f.pool(arrowBlock, arrowBytes, arrowBytes)
		obj, column := f.table(10_000, 0, 0, 0, buffer, counts)
		f.Put(column, firstChunk)
		f.Put(column+8, firstChunk+1<<40)
		f.Put(column+16, firstChunk+1<<40)
		f.Main("t", obj)
		class := f.class("St23_Sp_counted_ptr_inplaceIN5arrow12NumericArrayEE")
		from := chunks{f.Memory(), class}
		for _, limits := range []objects.Limits{{Time: 300 * time.Millisecond},
			{Objects: 20_000, Time: 2 * time.Second},
			{Bytes: 8 << 20, Time: 2 * time.Second}} {
			took := timed()
			r := f.looks(t, from, limits)
			if r.Complete || took() > 10*time.Second {
				t.Errorf("%+v: after %v: %+v", limits, took(), r)
			}
			if _, err := list(context.Background(), f.Heap, from, everything, limits); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestArrowDamaged overwrites words of such a process with anything: each look ends, with some result.
func TestArrowDamaged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	eachVersion(t, func(t *testing.T, plain *fake) {
		f := newArrowFake(plain)
		before := uint64(len(f.Mem))
		buffer, counts := f.pool(arrowBlock, arrowBytes, arrowBytes)
		obj, _ := f.table(10, 3, 0, 0, buffer, counts)
		again, _ := f.table(10_000, 0, 0, 0, buffer, counts)
		f.Put(counts+8, 1<<32|2)
		f.Main("t", obj, "u", f.List(again))
		sound := append([]byte(nil), f.Mem...)
		for range 60 {
			f.Mem = append(f.Mem[:0], sound...)
			for range 1 + random.IntN(6) {
				at := fakeMemory + before&^7 + 8*random.Uint64N((uint64(len(sound))-before)/8)
				with := []uint64{0, 1, 1 << 63, random.Uint64(), fakeMemory + 8*random.Uint64N(uint64(len(sound))/8),
					arrowBlock, f.Word(fakeMemory + 8*random.Uint64N(uint64(len(sound))/8))}
				f.Put(at, with[random.IntN(len(with))])
			}
			s, err := newSurvey(context.Background(), f.Heap, f.Memory(), Process{Mapped: everything},
				objects.Limits{Time: time.Second, Objects: 100_000})
			if err != nil {
				continue
			}
			r, err := s.Find(context.Background(), []objects.Block{{Address: arrowBlock, Size: arrowBytes}},
				objects.Limits{Time: time.Second, Objects: 100_000, Unseen: true})
			if err != nil || len(r.Holders) != 1 || r.Holders[0].Address != arrowBlock {
				t.Errorf("%v: %+v", err, r)
			}
			for _, v := range r.Views {
				if v.Used <= 0 || v.Copies < v.Used || v.Copies >= v.Size/2 || uint64(v.Size) >= objects.UserSpace {
					t.Errorf("%+v", v)
				}
			}
			if _, err := s.List(context.Background(), objects.Limits{Time: time.Second, Objects: 100_000}); err != nil {
				t.Error(err)
			}
			s.Close()
		}
	})
}
