package objects

import (
	"cmp"
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

// AttributeOf is attribute for an object of any type.
func (r Reader) AttributeOf(obj uint64, name string) uint64 {
	if t := r.ObjectType(obj); t != nil {
		return r.Attribute(obj, t, name)
	}
	return 0
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

// LocalNames returns the addresses of the names of a code object's variables, cells and free variables included.
func (r Reader) LocalNames(code uint64) []uint64 {
	h := &r.Heap
	if h.CodeCells == 0 {
		return r.Tuple(r.Mem.Word(code+uint64(h.CodeLocalNames)), int(r.Mem.Int32(code+uint64(h.CodeLocals))))
	}
	names := r.Tuple(r.Mem.Word(code+uint64(h.CodeLocalNames)), int(r.Mem.Int32(code+uint64(h.CodeLocals))))
	names = append(names, r.Tuple(r.Mem.Word(code+uint64(h.CodeCells)), MaxLocals)...)
	return append(names, r.Tuple(r.Mem.Word(code+uint64(h.CodeFrees)), MaxLocals)...)
}

// FreeNames returns the addresses of the names of a code object's free variables.
func (r Reader) FreeNames(code uint64) []uint64 {
	h := &r.Heap
	if h.CodeCells != 0 {
		return r.Tuple(r.Mem.Word(code+uint64(h.CodeFrees)), MaxLocals)
	}
	all := r.LocalNames(code)
	n := min(int(max(0, r.Mem.Int32(code+uint64(h.CodeFree)))), len(all))
	return all[len(all)-n:]
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

// Instruction is where in its code a frame is, as cpython.Line wants it.
func (r Reader) Instruction(addr, code uint64) int64 {
	h := &r.Heap
	if h.FrameKind == cpython.FrameObject {
		return int64(r.Mem.Int32(addr + uint64(h.FrameInstr)))
	}
	return int64(r.Mem.Word(addr+uint64(h.FrameInstr)) - code - uint64(h.CodeBytes))
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

// FunctionOf returns the name of the function that a code object is of, with the names of what it is defined in from
// 3.11 on.
func (r Reader) FunctionOf(code uint64) string {
	name, _ := r.Text(r.Mem.Word(code+uint64(cmp.Or(r.Heap.CodeQualName, r.Heap.CodeName))), MaxText)
	return name
}

// FileOf returns the name of the file that a code object is from.
func (r Reader) FileOf(code uint64) string {
	name, _ := r.Text(r.Mem.Word(code+uint64(r.Heap.CodeFilename)), MaxText)
	return name
}

// CodeOf is the name and the file of a frame's code, "" where it has none.
func (r Reader) CodeOf(frame uint64) (function, file string) {
	code := r.Mem.Word(frame+uint64(r.Heap.FrameCode)) & r.Heap.CodeMask
	if t := r.ObjectType(code); t == nil || t.Name != "code" {
		return "", ""
	}
	function, _ = r.Text(r.Mem.Word(code+uint64(r.Heap.CodeName)), MaxText)
	return function, r.FileOf(code)
}
