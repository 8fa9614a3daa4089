package holders

import (
	"slices"

	"ipytracer/internal/python/cpython"
)

// reader reads the objects that CPython itself has, as that version keeps them.
type reader struct{ *types }

func newReader(heap cpython.Heap, b budget) reader {
	return reader{&types{budget: b, heap: heap, byAddr: map[uint64]*typ{}, classes: map[uint64]string{}}}
}

// references reads the reference count of an object: from 3.12 on it is the lower half of its word.
func (r reader) references(addr uint64) int64 {
	return int64(uint32(r.mem.word(addr)))
}

// attributeOf is attribute for an object of any type.
func (r reader) attributeOf(obj uint64, name string) uint64 {
	if t := r.objectType(obj); t != nil {
		return r.attribute(obj, t, name)
	}
	return 0
}

// isLikely checks the words that a garbage collector keeps in front of an object: PyGC_Head, the links of a list, both
// 0 for an object that it leaves alone. Classes that are not made at run time have none.
func (r reader) isLikely(addr uint64, t *typ) bool {
	const head, flags, mostReferences, immortal = 16, 3, 1 << 22, 1 << 31
	if n := r.references(addr); n > mostReferences && n < immortal {
		return false
	}
	if t.flags&cpython.FlagGC == 0 ||
		t.shape == shapeType && r.mem.word(addr+cpython.TypeFlags)&cpython.FlagHeapType == 0 {
		return true
	}
	at := addr - head
	next, prev := r.mem.word(at)&^flags, r.mem.word(at+8)&^flags
	if next == 0 {
		return prev == 0
	}
	return r.mem.word(next+8)&^flags == at || r.mem.word(prev)&^flags == at
}

// localNames returns the addresses of the names of a code object's variables, cells and free variables included.
func (r reader) localNames(code uint64) []uint64 {
	h := &r.heap
	if h.CodeCells == 0 {
		return r.tuple(r.mem.word(code+uint64(h.CodeLocalNames)), int(r.mem.int32(code+uint64(h.CodeLocals))))
	}
	names := r.tuple(r.mem.word(code+uint64(h.CodeLocalNames)), int(r.mem.int32(code+uint64(h.CodeLocals))))
	names = append(names, r.tuple(r.mem.word(code+uint64(h.CodeCells)), maxLocals)...)
	return append(names, r.tuple(r.mem.word(code+uint64(h.CodeFrees)), maxLocals)...)
}

// freeNames returns the addresses of the names of a code object's free variables.
func (r reader) freeNames(code uint64) []uint64 {
	h := &r.heap
	if h.CodeCells != 0 {
		return r.tuple(r.mem.word(code+uint64(h.CodeFrees)), maxLocals)
	}
	all := r.localNames(code)
	n := min(int(max(0, r.mem.int32(code+uint64(h.CodeFree)))), len(all))
	return all[len(all)-n:]
}

// tuple returns at most limit items of a tuple.
func (r reader) tuple(addr uint64, limit int) (items []uint64) {
	if !r.isShape(addr, shapeTuple) || limit <= 0 {
		return nil
	}
	n := min(r.mem.word(addr+uint64(r.heap.VarSize)), uint64(limit), maxLocals)
	r.mem.words(addr+uint64(r.heap.TupleItems), n, func(_, item uint64) bool {
		items = append(items, item)
		return true
	})
	return items
}

// instruction is where in its code a frame is, as cpython.Line wants it.
func (r reader) instruction(addr, code uint64) int64 {
	h := &r.heap
	if h.FrameKind == cpython.FrameObject {
		return int64(r.mem.int32(addr + uint64(h.FrameInstr)))
	}
	return int64(r.mem.word(addr+uint64(h.FrameInstr)) - code - uint64(h.CodeBytes))
}

// exceptionMember names a word of a BaseException: Include/cpython/pyerrors.h; 3.11 put notes behind args.
func (r reader) exceptionMember(at uint64) string {
	names := []string{"args", "__notes__", "__traceback__", "__context__", "__cause__"}
	if r.heap.Version.Minor <= 10 {
		names = slices.Delete(names, 1, 2)
	}
	if i := (at - 24) / 8; at >= 24 && i < uint64(len(names)) {
		return names[i]
	}
	return ""
}

// Types of the buffer protocol: Objects/memoryobject.c.
const (
	memoryView    = "memoryview"
	managedBuffer = "managedbuffer"
	memoryBuffer  = 24 // PyMemoryViewObject.mbuf, in bytes
)

// codeOf is the name and the file of a frame's code, "" where it has none.
func (r reader) codeOf(frame uint64) (function, file string) {
	code := r.mem.word(frame+uint64(r.heap.FrameCode)) & r.heap.CodeMask
	if t := r.objectType(code); t == nil || t.name != "code" {
		return "", ""
	}
	function, _ = r.text(r.mem.word(code+uint64(r.heap.CodeName)), maxText)
	file, _ = r.text(r.mem.word(code+uint64(r.heap.CodeFilename)), maxText)
	return function, file
}
