package holders

import (
	"encoding/binary"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// TestReferencesOfUnknownTypes: of an object of an unknown type, a word is a reference where the object's reference
// count demands one, and none where all references to it have been found.
func TestReferencesOfUnknownTypes(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		for _, c := range []struct {
			name     string
			build    func() (main, module []uint64)
			kind     event.HolderKind
			path     string
			probable bool
		}{
			{"a stale word", func() (main, module []uint64) { // the list holds it, and nothing but that
				array := f.Array()
				f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpThreadsHead), 0)
				return []uint64{f.Str("odd"), f.Unknown(array)}, []uint64{f.Str("kept"), f.List(array)}
			}, event.HeldByModule, "lib.kept[0]", false},
			{"a reference", func() (main, module []uint64) {
				array := f.Array()
				f.Put(array, 2)
				return []uint64{f.Str("odd"), f.Unknown(array)}, []uint64{f.Str("kept"), f.List(array)}
			}, event.HeldByVariable, "odd.<numpy.ndarray>", false},
			{"one of two", func() (main, module []uint64) {
				array := f.Array()
				return []uint64{f.Str("odd"), f.Unknown(array)}, []uint64{f.Str("kept"), f.Unknown(array)}
			}, event.HeldByVariable, "odd.<numpy.ndarray>", true},
			// of two words one is a reference, and the list is held for sure
			{"a word that may be one, before what is one", func() (main, module []uint64) {
				held := f.List(f.Array())
				f.Put(held, 2)
				return []uint64{f.Str("odd"), f.Unknown(held), f.Str("other"), f.Unknown(held)},
					[]uint64{f.Str("kept"), f.List(f.List(held))}
			}, event.HeldByModule, "lib.kept[0][0][0]", false},
			{"a bare pointer", func() (main, module []uint64) {
				return []uint64{f.Str("odd"), f.Unknown(f.Block)}, nil
			}, event.HeldByVariable, "odd", true},
			{"a bare pointer beside an array", func() (main, module []uint64) {
				return []uint64{f.Str("odd"), f.Unknown(f.Block)}, []uint64{f.Str("kept"), f.List(f.Array())}
			}, event.HeldByModule, "lib.kept[0]", false},
		} {
			main, module := c.build()
			f.Program(main, module)
			h := f.find(t, objects.Limits{}).Holders[0]
			if h.Kind != c.kind || h.Path != c.path || h.Probable != c.probable {
				t.Errorf("%s: %+v", c.name, h)
			}
		}
	})
}

// TestCycleBesideStaleWord: objects that hold each other only are a cycle, though a word elsewhere has the address of
// an object that they hold.
func TestCycleBesideStaleWord(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		const head = 16
		array := f.Array()
		cycle := f.List(0, array)
		f.Put(binary.LittleEndian.Uint64(f.Mem[cycle+uint64(f.Heap.ListItems)-fakeMemory:]), cycle)
		f.Put(f.Types["list"]+cpython.TypeFlags,
			cpython.FlagGC|binary.LittleEndian.Uint64(f.Mem[f.Types["list"]+cpython.TypeFlags-fakeMemory:]))
		list := f.Heap.Interpreter + uint64(f.Heap.InterpGC) + 32 // a generation, with this one object
		f.Put(list, cycle-head)
		f.Put(list+8, cycle-head)
		f.Put(cycle-head, list)
		f.Put(cycle-head+8, list)
		f.Program([]uint64{f.Str("odd"), f.Unknown(array)}, nil)
		if h := f.find(t, objects.Limits{}).Holders[0]; h.Kind != event.HeldByCycle || h.Probable {
			t.Errorf("%+v", h)
		}
		f.Put(cycle, 2) // code in C holds it
		if h := f.find(t, objects.Limits{}).Holders[0]; h.Kind != event.HeldByNone {
			t.Errorf("held from outside: %+v", h)
		}
	})
}

// TestCollectorsOrder: objects that nothing leads to are noted in the collector's order, the oldest first, wherever
// they lie: an instance comes before its dict, so that the dict's values are named as the instance's.
func TestCollectorsOrder(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		const head = 16
		young, old := f.List(f.Array()), f.List(f.Array()) // which lies behind it
		f.Put(f.Types["list"]+cpython.TypeFlags,
			cpython.FlagGC|binary.LittleEndian.Uint64(f.Mem[f.Types["list"]+cpython.TypeFlags-fakeMemory:]))
		// a generation, with these two
		ring := []uint64{f.Heap.Interpreter + uint64(f.Heap.InterpGC) + 32, old - head, young - head}
		for i, at := range ring {
			f.Put(at, ring[(i+1)%len(ring)])
			f.Put(at+8, ring[(i+len(ring)-1)%len(ring)])
		}
		f.Program(nil, nil)
		s, err := newSurvey(t.Context(), f.Heap, f.Memory(), Process{}, objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		first, found := s.found.Notes.Index.Get(old, s.found.Notes.Addrs)
		second, also := s.found.Notes.Index.Get(young, s.found.Notes.Addrs)
		if !found || !also || first > second {
			t.Errorf("%v %v: the older has the number %d, the younger %d", found, also, first, second)
		}
	})
}
