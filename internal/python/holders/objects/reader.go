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

// IsLikely checks the words that a garbage collector keeps in front of an object: PyGC_Head, the links of a list, both
// 0 for an object that it leaves alone. Classes that are not made at run time have none.
func (r Reader) IsLikely(addr uint64, t *Type) bool {
	const head, flags, mostReferences, immortal = 16, 3, 1 << 22, 1 << 31
	if n := r.References(addr); n > mostReferences && n < immortal {
		return false
	}
	if t.Flags&cpython.FlagGC == 0 ||
		t.Shape == ShapeType && r.Mem.Word(addr+cpython.TypeFlags)&cpython.FlagHeapType == 0 {
		return true
	}
	at := addr - head
	next, prev := r.Mem.Word(at)&^flags, r.Mem.Word(at+8)&^flags
	if next == 0 {
		return prev == 0
	}
	return r.Mem.Word(next+8)&^flags == at || r.Mem.Word(prev)&^flags == at
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
