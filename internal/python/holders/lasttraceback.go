package holders

import (
	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// maxFailed is the number of calls of a traceback that are looked at.
const maxFailed = 8

// failedIn returns the files of the outermost calls in the last traceback: the traceback that sys has, or else the one
// that IPython shows.
func failedIn(r objects.Reader, s objects.Shell, sys uint64) (codes []event.Code) {
	var at uint64
	if sys != 0 {
		at = r.Lookup(sys, "last_traceback")
	}
	for _, shown := range s.Shown {
		if !r.IsShape(at, objects.ShapeTraceback) {
			at = r.AttributeOf(shown, "tb")
		}
	}
	for len(codes) < maxFailed && r.IsShape(at, objects.ShapeTraceback) {
		frame := r.Mem.Word(at + cpython.TracebackFrame)
		if r.Heap.FrameHolds != 0 { // from 3.11 on: see visitFrameObject in package walk
			frame = r.Mem.Word(frame + uint64(r.Heap.FrameHolds))
		}
		code := r.Mem.Word(frame+uint64(r.Heap.FrameCode)) & r.Heap.CodeMask
		codes = append(codes, event.Code{File: r.FileOf(code)})
		at = r.Mem.Word(at + cpython.TracebackNext)
	}
	return codes
}
