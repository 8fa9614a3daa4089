package objects

import (
	"slices"

	"ipytracer/internal/python/cpython"
)

// Reader reads the objects that CPython itself has, as that version keeps them.
type Reader struct{ *Types }

// NewReader returns a reader that knows no type yet.
func NewReader(heap cpython.Heap, b Budget) Reader {
	return Reader{&Types{Budget: b, Heap: heap, ByAddr: map[uint64]*Type{}, Classes: map[uint64]string{}}}
}

// References reads the reference count of an object: from 3.12 on it is the lower half of its word.
func (r Reader) References(addr uint64) int64 {
	return int64(uint32(r.Mem.Word(addr)))
}

// IsLikely reports whether there is probably an object of a type at an address: the reference count is likely, and the
// words that the garbage collector keeps in front of the object (PyGC_Head) are the links of a list. Both links are 0
// for an object that the collector leaves alone. A class that is not made at run time has no such words.
func (r Reader) IsLikely(addr uint64, t *Type) bool {
	const maxReferences, immortal = 1 << 22, 1 << 31
	if n := r.References(addr); n > maxReferences && n < immortal {
		return false
	}
	isStaticClass := t.Shape == ShapeType && r.Mem.Word(addr+cpython.TypeFlags)&cpython.FlagHeapType == 0
	if t.Flags&cpython.FlagGC == 0 || isStaticClass {
		return true
	}
	entry := addr - gcHead
	next, previous := r.Mem.Word(entry+gcNext)&^gcFlags, r.Mem.Word(entry+gcPrevious)&^gcFlags
	if next == 0 {
		return previous == 0
	}
	return r.Mem.Word(next+gcPrevious)&^gcFlags == entry || r.Mem.Word(previous+gcNext)&^gcFlags == entry
}

// Tuple returns at most limit items of a tuple.
func (r Reader) Tuple(addr uint64, limit int) (items []uint64) {
	if !r.IsShape(addr, ShapeTuple) || limit <= 0 {
		return nil
	}
	n := min(r.Mem.Word(addr+uint64(r.Heap.VarSize)), uint64(limit), MaxLocals)
	r.Mem.Words(addr+uint64(r.Heap.TupleItems), n, func(_, item uint64) bool {
		items = append(items, item)
		return true
	})
	return items
}

// ExceptionMember names a word of a BaseException: Include/cpython/pyerrors.h; 3.11 put notes behind args.
func (r Reader) ExceptionMember(at uint64) string {
	names := []string{"args", "__notes__", "__traceback__", "__context__", "__cause__"}
	if r.Heap.Version.Minor <= 10 {
		names = slices.Delete(names, 1, 2)
	}
	if i := (at - 24) / 8; at >= 24 && i < uint64(len(names)) {
		return names[i]
	}
	return ""
}

// Types of the buffer protocol: Objects/memoryobject.c.
const (
	MemoryView    = "memoryview"
	ManagedBuffer = "managedbuffer"
	MemoryBuffer  = 24 // PyMemoryViewObject.mbuf, in bytes
)
