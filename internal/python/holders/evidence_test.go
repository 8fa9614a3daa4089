package holders

import (
	"encoding/binary"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// unknownObject makes an object of a library's type with words of unknown meaning, with these behind its header.
func (f *fake) unknownObject(words ...uint64) uint64 { return f.object("other.Native", words...) }

func (f *fake) setReferences(addr uint64, n uint64) { f.put(addr, n) }

// program makes __main__ and one more module of some values.
func (f *fake) program(main, module []uint64) {
	f.put(f.h.Interpreter+uint64(f.h.InterpModules),
		f.dict(f.str("__main__"), f.object("module", f.dict(main...)), f.str("lib"),
			f.object("module", f.dict(module...))))
	f.put(f.h.Interpreter+uint64(f.h.InterpThreadsHead), 0)
}

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
				array := f.array()
				f.put(f.h.Interpreter+uint64(f.h.InterpThreadsHead), 0)
				return []uint64{f.str("odd"), f.unknownObject(array)}, []uint64{f.str("kept"), f.list(array)}
			}, event.HeldByModule, "lib.kept[0]", false},
			{"a reference", func() (main, module []uint64) {
				array := f.array()
				f.setReferences(array, 2)
				return []uint64{f.str("odd"), f.unknownObject(array)}, []uint64{f.str("kept"), f.list(array)}
			}, event.HeldByVariable, "odd.<numpy.ndarray>", false},
			{"one of two", func() (main, module []uint64) {
				array := f.array()
				return []uint64{f.str("odd"), f.unknownObject(array)}, []uint64{f.str("kept"), f.unknownObject(array)}
			}, event.HeldByVariable, "odd.<numpy.ndarray>", true},
			// of two words one is a reference, and the list is held for sure
			{"a word that may be one, before what is one", func() (main, module []uint64) {
				held := f.list(f.array())
				f.setReferences(held, 2)
				return []uint64{f.str("odd"), f.unknownObject(held), f.str("other"), f.unknownObject(held)},
					[]uint64{f.str("kept"), f.list(f.list(held))}
			}, event.HeldByModule, "lib.kept[0][0][0]", false},
			{"a bare pointer", func() (main, module []uint64) {
				return []uint64{f.str("odd"), f.unknownObject(f.block)}, nil
			}, event.HeldByVariable, "odd", true},
			{"a bare pointer beside an array", func() (main, module []uint64) {
				return []uint64{f.str("odd"), f.unknownObject(f.block)}, []uint64{f.str("kept"), f.list(f.array())}
			}, event.HeldByModule, "lib.kept[0]", false},
		} {
			main, module := c.build()
			f.program(main, module)
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
		array := f.array()
		cycle := f.list(0, array)
		f.put(binary.LittleEndian.Uint64(f.mem[cycle+uint64(f.h.ListItems)-fakeMemory:]), cycle)
		f.put(f.types["list"]+cpython.TypeFlags,
			cpython.FlagGC|binary.LittleEndian.Uint64(f.mem[f.types["list"]+cpython.TypeFlags-fakeMemory:]))
		list := f.h.Interpreter + uint64(f.h.InterpGC) + 32 // a generation, with this one object
		f.put(list, cycle-head)
		f.put(list+8, cycle-head)
		f.put(cycle-head, list)
		f.put(cycle-head+8, list)
		f.program([]uint64{f.str("odd"), f.unknownObject(array)}, nil)
		if h := f.find(t, objects.Limits{}).Holders[0]; h.Kind != event.HeldByCycle || h.Probable {
			t.Errorf("%+v", h)
		}
		f.setReferences(cycle, 2) // code in C holds it
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
		young, old := f.list(f.array()), f.list(f.array()) // which lies behind it
		f.put(f.types["list"]+cpython.TypeFlags,
			cpython.FlagGC|binary.LittleEndian.Uint64(f.mem[f.types["list"]+cpython.TypeFlags-fakeMemory:]))
		// a generation, with these two
		ring := []uint64{f.h.Interpreter + uint64(f.h.InterpGC) + 32, old - head, young - head}
		for i, at := range ring {
			f.put(at, ring[(i+1)%len(ring)])
			f.put(at+8, ring[(i+len(ring)-1)%len(ring)])
		}
		f.program(nil, nil)
		s, err := newSurvey(t.Context(), f.h, f.memory(), Process{}, objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		first, found := s.notes.Index.Get(old, s.notes.Addrs)
		second, also := s.notes.Index.Get(young, s.notes.Addrs)
		if !found || !also || first > second {
			t.Errorf("%v %v: the older has the number %d, the younger %d", found, also, first, second)
		}
	})
}
