package holders

import (
	"slices"

	"ipytracer/event"
)

// leastArray is from how many bytes on NumPy takes memory of its own for an array; it keeps smaller pieces in a cache.
const leastArray = 1 << 10

// target is a view on the way to the object that must be copied for it.
type target struct {
	view         uint64
	used, copies uint64
	object       uint64 // the object that is copied: the view itself, or the frame that it is a part of
	node         int32
	how          event.ViewCopy
	// isHidden: it is the owner of the memory, or a view that goes with another and is not copied with it: a frame that
	// was sliced keeps the one that it is a slice of.
	isHidden bool
	arrow    bool // it is one of pyarrow's, or has one
}

// aim finds the object that must be copied for a view: the first on the way to it that can be.
func (v *viewing) aim(t *target) {
	t.object, t.node = 0, -1
	n, ok := v.known(t.view)
	if !ok {
		return
	}
	for at, steps := n, 0; at >= 0 && steps < maxSteps*2; at, steps = v.nodes[at].parent, steps+1 {
		if v.nodes[at].what == nodeFrame {
			t.object, t.node = 0, -1
			return
		}
		if how := v.howOf(v.addrs[at]); how != "" {
			t.object, t.node, t.how = v.addrs[at], at, how
		}
	}
	if t.arrow && t.node >= 0 {
		aimArrow(v, n, t)
	} else if t.how == event.CopyObject && t.object != t.view {
		t.how = v.partOf(n, t.node)
		t.isHidden = t.isHidden || v.managers(n, t.node) > 1
	}
}

// aimArrow is aim for pyarrow's objects: the copies of pandas' objects share them, so that these are made anew. An axis
// of a frame is not.
func aimArrow(v *viewing, n int32, t *target) {
	of := v.lineage(v.objectType(t.object))
	switch {
	case t.how != event.CopyObject:
	case !of.is("NDFrame") && !of.is("IndexOpsMixin"), v.partOf(n, t.node) != event.CopyObject:
		t.object, t.node = 0, -1
	case of.is("DataFrame"):
		t.how = event.CopyAnew
	default:
		t.how = event.CopyRepeated
	}
}

// copyOfArrow returns the way to copy an object of pyarrow's, by its class.
func copyOfArrow(of lineage) event.ViewCopy {
	for _, one := range []struct {
		class string
		how   event.ViewCopy
	}{
		{"Table", event.CopyTable}, {"RecordBatch", event.CopyBatch}, {"ChunkedArray", event.CopyChunked},
		{"Array", event.CopyArrow},
	} {
		if of.is("pyarrow.lib." + one.class) {
			return one.how
		}
	}
	return ""
}

// howOf returns the way to copy an object, "" if it cannot be copied.
func (v *viewing) howOf(addr uint64) event.ViewCopy {
	t := v.objectType(addr)
	switch {
	case t == nil:
	case t.shape == shapeArray:
		return event.CopyObject
	case t.name == memoryView:
		return event.CopyBytes
	case t.arrow:
		return copyOfArrow(v.lineage(t))
	case t.native && v.isTensor(t):
		if v.hasGraph(addr) {
			return event.CopyLoose
		}
		return event.CopyTensor
	case t.flags&(1<<9) != 0 && v.isPandas(t): // a class
		return event.CopyObject
	}
	return ""
}

// isPandas reports whether objects of a type are pandas' frames, series or indices.
func (v *viewing) isPandas(t *typ) bool {
	of := v.lineage(t)
	return of.is("NDFrame") || of.is("IndexOpsMixin")
}

// partOf returns the part of a frame that a view is of: its data, or one of its axes, which a copy of the frame shares
// with it.
func (v *viewing) partOf(view, frame int32) event.ViewCopy {
	series := v.lineage(v.objectType(v.addrs[frame])).is("Series")
	for at := view; at >= 0 && at != frame; at = v.nodes[at].parent {
		t := v.objectType(v.addrs[at])
		if t == nil || !v.lineage(t).is("IndexOpsMixin") || v.lineage(t).is("NDFrame") {
			continue
		}
		if l := v.paths.labelOf(at); l.kind == labelIndex && l.arg == 0 && !series {
			return event.CopyColumns
		}
		return event.CopyIndex
	}
	return event.CopyObject
}

// reached finds out by which names the objects that must be copied are reached, and whether there is no other way to
// them.
func (v *viewing) reached(f *foundView) bool {
	for i := range f.targets {
		t := &f.targets[i]
		if t.object == 0 {
			return false
		}
		switch kind := v.nodes[t.node].kind; {
		case kind == kindCycle:
			f.Collect = true
			continue
		case kind != kindVariable: // an object of other code, or an output's
			return false
		case !v.straight(f, t):
			return false
		case t.isHidden:
			continue
		case !v.see(f, t):
			return false
		}
		f.Used, f.Copies = f.Used+event.Bytes(t.used), f.Copies+event.Bytes(t.copies)
		if t.copies < leastArray {
			f.Small += event.Bytes(t.copies)
		}
	}
	for _, t := range f.targets {
		if t.isHidden && v.nodes[t.node].kind != kindCycle && !f.replaces(t) {
			return false // it has a name of its own
		}
	}
	return f.worth()
}

// see takes in an object that must be copied, and how.
func (v *viewing) see(f *foundView, t *target) bool {
	one := f.viewerOf(t.object)
	if one == nil {
		added, ok := v.viewer(f, t)
		if !ok {
			return false
		}
		f.Viewers, f.objects = append(f.Viewers, added), append(f.objects, t.object)
		one = &f.Viewers[len(f.Viewers)-1]
	}
	one.Used += event.Bytes(t.used)
	if !slices.Contains(one.How, t.how) {
		one.How = append(one.How, t.how)
	}
	return true
}

// viewerOf is an object among those that must be copied, nil if it is none.
func (f *foundView) viewerOf(object uint64) *event.Viewer {
	if i := slices.Index(f.objects, object); i >= 0 {
		return &f.Viewers[i]
	}
	return nil
}

// replaces reports whether a hidden object goes when the object that must be copied is replaced as a whole, and notes
// that it must be.
func (f *foundView) replaces(t target) bool {
	one := f.viewerOf(t.object)
	if one == nil || t.object == t.view {
		return false
	}
	if !slices.Contains(one.How, event.CopyObject) {
		one.How = append(one.How, event.CopyObject)
	}
	return true
}

// managers returns how many of pandas' block managers lie between a view and the frame that it is a part of.
func (v *viewing) managers(view, frame int32) (n int) {
	for at := view; at >= 0 && at != frame; at = v.nodes[at].parent {
		if t := v.objectType(v.addrs[at]); t != nil && (t.name == "BlockManager" || t.name == "SingleBlockManager") {
			n++
		}
	}
	return n
}

// straight reports whether each object between a view and the copied one has no other holder than the one that leads
// there.
func (v *viewing) straight(f *foundView, t *target) bool {
	n, _ := v.known(t.view)
	for n != t.node && n >= 0 {
		if v.nodes[n].probable || v.referencesOf(v.addrs[n])-f.holds[v.addrs[n]] != 1 {
			return false
		}
		n = v.nodes[n].parent
	}
	return n >= 0
}

// viewer is an object that must be copied, with all places that refer to it.
func (v *viewing) viewer(f *foundView, t *target) (one event.Viewer, ok bool) {
	if typ := v.objectType(t.object); typ != nil {
		one.Type = typ.name
	}
	one.Paths = slices.Clone(v.places.names[t.object])
	one.Outputs = v.places.outputs[t.object]
	seen := int64(len(one.Paths)) + v.places.own[t.object]
	for _, id := range v.places.others[t.object] {
		addr := v.notes.addrs[id]
		n, known := v.known(addr)
		if !known || v.nodes[n].kind != kindVariable || len(one.Paths) > maxAlso {
			return one, false
		}
		one.Paths = append(one.Paths, v.pathOf(n)+v.stepTo(n, t.object))
		one.Fixed = one.Fixed || v.isShape(addr, shapeTuple, shapeSet, shapeDeque, shapeFunction, shapeCell)
		seen++
	}
	if path := v.pathOf(t.node); len(one.Paths) == 0 || !slices.Contains(one.Paths, path) {
		return one, false
	}
	return one, seen == v.referencesOf(t.object)-f.holds[t.object]
}

// pathOf is how a node is reached.
func (v *viewing) pathOf(n int32) string {
	var h event.Holder
	v.paths.describe(&h, n)
	root := v.paths.rootNode(n)
	if v.paths.labelOf(root).kind == labelRoot {
		return h.Path
	}
	if names := v.places.names[v.addrs[root]]; len(names) > 0 { // a listing has names apart
		return names[0] + h.Path
	}
	return ""
}

// stepTo is how an object refers to another, as one types it.
func (v *viewing) stepTo(n int32, to uint64) string {
	step, _ := v.paths.step(n, labelBetween(v.walker, v.addrs[n], to))
	return step
}
