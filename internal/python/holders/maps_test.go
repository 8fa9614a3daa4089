package holders

import (
	"testing"

	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/holderstest"
	"ipytracer/internal/python/holders/objects"
)

// TestMapsOfNames: a memory map belongs to the names that lead to it, one of a class of the user's, too. One that is
// not mapped from one end to the other is none, whatever the object says.
func TestMapsOfNames(t *testing.T) {
	holderstest.EachVersion(t, func(t *testing.T, f *holderstest.Python) {
		const at, size = 0x7e00_0000_0000, 1 << 20
		f.Type(mapType, 64, 0, 0)
		object := func(addr, size uint64) uint64 { return f.Object(mapType, addr, size, 0, 0, 0, 0) }
		both := f.Refs(object(at, size-100), 2)
		a, b, beyond := f.List(both), f.List(both), f.List(object(at+size, 4*size))
		f.Type("Own", 64, 0, cpython.FlagHeapType)
		f.Put(f.Types["Own"]+cpython.TypeBase, f.Types[mapType])
		own := f.List(f.Object("Own", at+size, size, 0, 0, 0, 0))
		f.Main("own", own, "a", a, "b", b, "beyond", beyond, "odd", f.List(object(at+8, size/2)),
			"closed", f.List(object(0, size)))
		l := listPython(t, f, append(everything, objects.Block{Address: at, Size: 2 * size}))
		if l.Places == nil || len(l.Places.Maps) != 2 || l.Places.Maps[0].Block != (objects.Block{Address: at,
			Size: size}) ||
			l.Places.Maps[1].Block != (objects.Block{Address: at + size, Size: size}) {
			t.Fatalf("%+v", l.Places)
		}
		names := ""
		for i, o := range l.Owners {
			if l.Places.Maps[0].Owners>>i&1 == 1 {
				names += l.Names[o.Variable].Name
			}
		}
		if names != "ab" && names != "ba" {
			t.Errorf("held by %q", names)
		}
	})
}
