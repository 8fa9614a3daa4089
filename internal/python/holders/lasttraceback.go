package holders

import (
	"ipytracer/event"
	"ipytracer/internal/python/cpython"
)

// Bounds of the calls of a traceback that are looked at.
const (
	maxFailed   = 8
	maxCodeFile = 192 // bytes of a file's name
)

// failedIn returns the file of the code of the outermost calls of the last traceback: the one that Python has, or the
// one that IPython shows.
func failedIn(r reader, s shell, sys uint64) (codes []event.Code) {
	var at uint64
	if sys != 0 {
		at = r.lookup(sys, "last_traceback")
	}
	for _, shown := range s.shown {
		if !r.isShape(at, shapeTraceback) {
			at = r.attributeOf(shown, "tb")
		}
	}
	for len(codes) < maxFailed && r.isShape(at, shapeTraceback) {
		frame := r.mem.word(at + cpython.TracebackFrame)
		if r.heap.FrameHolds != 0 { // from 3.11 on: see [walker.visitFrameObject]
			frame = r.mem.word(frame + uint64(r.heap.FrameHolds))
		}
		code := r.mem.word(frame+uint64(r.heap.FrameCode)) & r.heap.CodeMask
		file, _ := r.text(r.mem.word(code+uint64(r.heap.CodeFilename)), maxCodeFile)
		codes = append(codes, event.Code{File: file})
		at = r.mem.word(at + cpython.TracebackNext)
	}
	return codes
}
