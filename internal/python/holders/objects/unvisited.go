package objects

import "ipytracer/internal/python/cpython"

// The garbage collector finds references by calling tp_traverse of the objects in its lists, which have types with
// Py_TPFLAGS_HAVE_GC. An object of another type hides what it refers to: NumPy's arrays do, and types of libraries in
// C. So does the part of an object that a base without tp_traverse has: the elements of an array of a class that
// derives from NumPy's. A base can have the function without the flag (ctypes' in 3.11). Source: subtract_refs in
// Modules/gcmodule.c, subtype_traverse in Objects/typeobject.c.

// hidesOf returns the offset in a type's objects below which the collector does not visit references: HidesAll for a
// type without the flag, and otherwise the size of the base without tp_traverse, 0 for none.
func (y *Types) hidesOf(t *Type) uint64 {
	const ofObject = 16
	if t.Name == lruLink {
		return 0
	}
	if t.Flags&cpython.FlagGC == 0 {
		return HidesAll
	}
	own := y.Mem.Word(t.Addr + cpython.TypeTraverse)
	for at, n := t.Addr, 0; n < maxBases; n++ {
		up := y.Mem.Word(at + cpython.TypeBase)
		basic := y.Mem.Word(up + cpython.TypeBasicSize)
		if up == 0 || up == at || basic <= ofObject {
			break
		}
		switch y.Mem.Word(up + cpython.TypeTraverse) {
		case own: // subtype_traverse, of classes written in Python, goes on to the next base
		case 0:
			return min(basic, MaxBasic)
		default:
			return 0
		}
		at = up
	}
	return 0
}
