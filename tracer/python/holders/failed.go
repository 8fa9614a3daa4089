package holders

import (
	"ipytracer/event"
	"ipytracer/tracer/python/cpython"
)

// Bounds of the calls of a traceback that are looked at.
const (
	maxFailed   = 8
	maxCodeFile = 192 // bytes of a file's name
)

// failedIn says where the code of the outermost calls of the last traceback is from: the one that Python has, or the one that IPython shows.
func failedIn(w *walker, s shell, sys uint64) (codes []event.Code) {
	var at uint64
	if sys != 0 {
		at = w.lookup(sys, "last_traceback")
	}
	for _, shown := range s.shown {
		if !w.isShape(at, shapeTraceback) {
			at = w.attributeOf(shown, "tb")
		}
	}
	for len(codes) < maxFailed && w.isShape(at, shapeTraceback) {
		frame := w.mem.word(at + cpython.TracebackFrame)
		if w.heap.FrameHolds != 0 { // from 3.11 on: see [walker.visitFrameObject]
			frame = w.mem.word(frame + uint64(w.heap.FrameHolds))
		}
		code := w.mem.word(frame+uint64(w.heap.FrameCode)) & w.heap.CodeMask
		file, _ := w.text(w.mem.word(code+uint64(w.heap.CodeFilename)), maxCodeFile)
		codes = append(codes, event.Code{File: file})
		at = w.mem.word(at + cpython.TracebackNext)
	}
	return codes
}
