package objects

import (
	"cmp"

	"ipytracer/internal/python/cpython"
)

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
	names := r.LocalNames(code)
	free := min(int(max(0, r.Mem.Int32(code+uint64(h.CodeFree)))), len(names))
	return names[len(names)-free:]
}

// Instruction returns the position of a frame in its code, in the form that cpython.Line takes.
func (r Reader) Instruction(addr, code uint64) int64 {
	h := &r.Heap
	if h.FrameKind == cpython.FrameObject {
		return int64(r.Mem.Int32(addr + uint64(h.FrameInstr)))
	}
	return int64(r.Mem.Word(addr+uint64(h.FrameInstr)) - code - uint64(h.CodeBytes))
}

// FunctionOf returns the name of a code object's function. From 3.11 on it is the qualified name, such as Class.method.
func (r Reader) FunctionOf(code uint64) string {
	name, _ := r.Text(r.Mem.Word(code+uint64(cmp.Or(r.Heap.CodeQualName, r.Heap.CodeName))), MaxText)
	return name
}

// FileOf returns the name of the file that a code object is from.
func (r Reader) FileOf(code uint64) string {
	name, _ := r.Text(r.Mem.Word(code+uint64(r.Heap.CodeFilename)), MaxText)
	return name
}

// CodeOf returns the function's name and the file of a frame's code, "" where the frame has none.
func (r Reader) CodeOf(frame uint64) (function, file string) {
	code := r.Mem.Word(frame+uint64(r.Heap.FrameCode)) & r.Heap.CodeMask
	if t := r.ObjectType(code); t == nil || t.Name != "code" {
		return "", ""
	}
	function, _ = r.Text(r.Mem.Word(code+uint64(r.Heap.CodeName)), MaxText)
	return function, r.FileOf(code)
}
