package holders

import (
	"slices"

	"ipytracer/event"
)

// Held is memory that only views hold, with the objects that must be copied.
type Held struct {
	event.View
	targets []target
	objects []uint64         // the addresses of the Viewers
	holds   map[uint64]int64 // see viewed
}

// viewerOf returns the viewer of an object, nil if it need not be copied.
func (held *Held) viewerOf(object uint64) *event.Viewer {
	if i := slices.Index(held.objects, object); i >= 0 {
		return &held.Viewers[i]
	}
	return nil
}

// copyWhole notes that the object around a hidden view must be copied as a whole (x = x.copy()), which lets go of the
// view. It returns false if the object is not among the viewers, or is the view itself.
func (held *Held) copyWhole(target target) bool {
	viewer := held.viewerOf(target.object)
	if viewer == nil || target.object == target.View {
		return false
	}
	if !slices.Contains(viewer.How, event.CopyObject) {
		viewer.How = append(viewer.How, event.CopyObject)
	}
	return true
}

// target is a view of memory, with the object that must be copied so that the view goes.
type target struct {
	View   uint64 // the address of the view
	used   uint64 // bytes of the memory that the view uses
	copies uint64 // bytes of the view's copy
	object uint64 // the object that is copied: the view itself, or the frame that it is a part of; 0 for none
	node   int32  // of object
	how    event.ViewCopy
	// isHidden is true for the owner of the memory, and for a view that is freed with another view but not copied with
	// it. An example: a sliced frame keeps the frame from which it was sliced.
	isHidden bool
	arrow    bool // the view is an object of pyarrow's
}
