package holders

import (
	"context"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// foreignFake is a Python with objects of a library, and malloc's heap.
type foreignFake struct{ *fake }

// piece is a piece of malloc's of so many bytes and with these words first.
func (f foreignFake) piece(bytes int, words ...uint64) uint64 {
	size := uint64(bytes+8+15) &^ 15
	at := f.Alloc(int(size)+32) + 16
	f.Put(at-8, size|1)
	f.Put(at-8+size, 32|1)
	for i, w := range words {
		f.Put(at+uint64(8*i), w)
	}
	return at
}

// mapped is a piece that malloc has mapped by itself.
func (f foreignFake) mapped(pages int) uint64 {
	f.Alloc(objects.PageSize - len(f.Mem)%objects.PageSize)
	at := f.Alloc(pages * objects.PageSize)
	f.Put(at+8, uint64(pages*objects.PageSize)|2)
	return at + 16
}

// sizes returns the bytes of each of these objects, by the names a, b, ….
func (f foreignFake) sizes(t *testing.T, heap objects.Block, which ...uint64) (all []event.Bytes) {
	t.Helper()
	var pairs []uint64
	for i, obj := range which {
		pairs = append(pairs, f.Str(string(rune('a'+i))), obj)
	}
	f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpModules),
		f.Dict(f.Str("__main__"), f.Object("module", f.Dict(pairs...))))
	s, err := newSurvey(context.Background(), f.Heap, f.Memory(), Process{Mapped: everything, Heap: heap},
		objects.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := s.List(context.Background(), objects.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	all = make([]event.Bytes, len(which))
	for _, v := range l.Names {
		if len(v.Name) == 1 {
			all[v.Name[0]-'a'] = v.Bytes
			if v.Exact && v.Name == "a" {
				t.Errorf("%s has exactly %d bytes", v.Name, v.Bytes)
			}
		}
	}
	return all
}

// TestMallocsBlockOfALibrarysObject: a large piece of malloc's belongs to the one object of a library that leads to it
// by at most two small ones.
func TestMallocsBlockOfALibrarysObject(t *testing.T) {
	const large = 100_000
	whole := objects.Block{Address: fakeMemory, Size: 64 << 20}
	for name, c := range map[string]struct {
		objects func(f foreignFake) []uint64
		heap    objects.Block
		has     bool
	}{
		"directly": {heap: whole, has: true, objects: func(f foreignFake) []uint64 {
			return []uint64{f.Object("lib.Image", 5, f.piece(large))}
		}},
		"by two": {heap: whole, has: true, objects: func(f foreignFake) []uint64 {
			return []uint64{f.Object("lib.Image", f.piece(40, 1, f.piece(40, f.piece(large))))}
		}},
		"by three": {heap: whole, objects: func(f foreignFake) []uint64 {
			return []uint64{f.Object("lib.Image", f.piece(40, f.piece(40, f.piece(40, f.piece(large)))))}
		}},
		"mapped by itself": {has: true, objects: func(f foreignFake) []uint64 {
			return []uint64{f.Object("lib.Image", f.mapped(25))}
		}},
		"not the beginning": {heap: whole, objects: func(f foreignFake) []uint64 {
			return []uint64{f.Object("lib.Image", f.piece(large)+64)}
		}},
		"no heap": {objects: func(f foreignFake) []uint64 {
			return []uint64{f.Object("lib.Image", f.piece(large))}
		}},
		"beyond the heap": {heap: objects.Block{Address: fakeMemory, Size: 1 << 10},
			objects: func(f foreignFake) []uint64 {
				return []uint64{f.Object("lib.Image", f.piece(large))}
			}},
		"two objects": {heap: whole, objects: func(f foreignFake) []uint64 {
			piece := f.piece(large)
			return []uint64{f.Object("lib.Image", f.piece(40, piece)), f.Object("lib.Image", piece)}
		}},
		"a list's": {heap: whole, objects: func(f foreignFake) []uint64 {
			piece := f.piece(large)
			return []uint64{f.Object("lib.Image", piece), f.Object("list", large/8, piece, large/8)}
		}},
		"in a circle": {heap: whole, objects: func(f foreignFake) []uint64 {
			first := f.piece(40)
			f.Put(first, f.piece(40, first))
			return []uint64{f.Object("lib.Image", first)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := foreignFake{newFake(11)}
			f.Type("lib.Image", 48, 0, 0)
			all := f.sizes(t, c.heap, c.objects(f)...)
			if has := all[0] >= large && all[0] < large+8<<10; has != c.has {
				t.Errorf("%d bytes; want those of the piece: %v", all, c.has)
			}
		})
	}
}

// TestForeignBounded: a process of pieces that lead to each other without end costs a bounded number of reads, and its
// survey goes on.
func TestForeignBounded(t *testing.T) {
	f := foreignFake{newFake(11)}
	f.Type("lib.Image", 48, 0, 0)
	var all []uint64
	for range 300 {
		all = append(all, f.piece(4000))
	}
	for i, at := range all {
		for w := range uint64(500) {
			f.Put(at+8*w, all[(uint64(i)*7+w)%uint64(len(all))])
		}
	}
	var images []uint64
	for i := range 3000 {
		images = append(images, f.Object("lib.Image", all[i%len(all)]))
	}
	images = append(images, f.Object("lib.Image", f.piece(100_000)))
	f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpModules),
		f.Dict(f.Str("__main__"), f.Object("module", f.Dict(f.Str("a"), f.List(images...)))))
	s, err := newSurvey(context.Background(), f.Heap, f.Memory(),
		Process{Mapped: everything, Heap: objects.Block{Address: fakeMemory, Size: 64 << 20}}, objects.Limits{})
	if err != nil || s.found.Stopped != nil {
		t.Fatal(err, s.found.Stopped)
	}
	defer s.Close()
	if n := len(s.found.Sizes.Foreign.Pieces); n > 0 {
		t.Errorf("%d objects have pieces", n)
	}
}
