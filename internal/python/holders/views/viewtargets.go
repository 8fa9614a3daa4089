package views

import (
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/paths"
	"ipytracer/internal/python/holders/walk"
)

// leastArray is from how many bytes on NumPy takes memory of its own for an array; it keeps smaller pieces in a cache.
const leastArray = 1 << 10

// Target is a view on the way to the object that must be copied for it.
type Target struct {
	View         uint64
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
func (v *Viewing) aim(t *Target) {
	t.object, t.node = 0, -1
	n, ok := v.Known(t.View)
	if !ok {
		return
	}
	for at, steps := n, 0; at >= 0 && steps < paths.MaxSteps*2; at, steps = v.Nodes[at].Parent, steps+1 {
		if v.Nodes[at].What == walk.NodeFrame {
			t.object, t.node = 0, -1
			return
		}
		if how := v.howOf(v.Addrs[at]); how != "" {
			t.object, t.node, t.how = v.Addrs[at], at, how
		}
	}
	if t.arrow && t.node >= 0 {
		aimArrow(v, n, t)
	} else if t.how == event.CopyObject && t.object != t.View {
		t.how = v.partOf(n, t.node)
		t.isHidden = t.isHidden || v.managers(n, t.node) > 1
	}
}

// aimArrow is aim for pyarrow's objects: the copies of pandas' objects share them, so that these are made anew. An axis
// of a frame is not.
func aimArrow(v *Viewing, n int32, t *Target) {
	of := v.Lineage(v.ObjectType(t.object))
	switch {
	case t.how != event.CopyObject:
	case !of.Is("NDFrame") && !of.Is("IndexOpsMixin"), v.partOf(n, t.node) != event.CopyObject:
		t.object, t.node = 0, -1
	case of.Is("DataFrame"):
		t.how = event.CopyAnew
	default:
		t.how = event.CopyRepeated
	}
}

// copyOfArrow returns the way to copy an object of pyarrow's, by its class.
func copyOfArrow(of objects.Lineage) event.ViewCopy {
	for _, one := range []struct {
		class string
		how   event.ViewCopy
	}{
		{"Table", event.CopyTable}, {"RecordBatch", event.CopyBatch}, {"ChunkedArray", event.CopyChunked},
		{"Array", event.CopyArrow},
	} {
		if of.Is("pyarrow.lib." + one.class) {
			return one.how
		}
	}
	return ""
}

// howOf returns the way to copy an object, "" if it cannot be copied.
func (v *Viewing) howOf(addr uint64) event.ViewCopy {
	t := v.ObjectType(addr)
	switch {
	case t == nil:
	case t.Shape == objects.ShapeArray:
		return event.CopyObject
	case t.Name == objects.MemoryView:
		return event.CopyBytes
	case t.Arrow:
		return copyOfArrow(v.Lineage(t))
	case t.Native && v.IsTensor(t):
		if v.hasGraph(addr) {
			return event.CopyLoose
		}
		return event.CopyTensor
	case t.Flags&(1<<9) != 0 && v.isPandas(t): // a class
		return event.CopyObject
	}
	return ""
}

// isPandas reports whether objects of a type are pandas' frames, series or indices.
func (v *Viewing) isPandas(t *objects.Type) bool {
	of := v.Lineage(t)
	return of.Is("NDFrame") || of.Is("IndexOpsMixin")
}

// partOf returns the part of a frame that a view is of: its data, or one of its axes, which a copy of the frame shares
// with it.
func (v *Viewing) partOf(view, frame int32) event.ViewCopy {
	series := v.Lineage(v.ObjectType(v.Addrs[frame])).Is("Series")
	for at := view; at >= 0 && at != frame; at = v.Nodes[at].Parent {
		t := v.ObjectType(v.Addrs[at])
		if t == nil || !v.Lineage(t).Is("IndexOpsMixin") || v.Lineage(t).Is("NDFrame") {
			continue
		}
		if l := v.paths.LabelOf(at); l.Kind == walk.LabelIndex && l.Arg == 0 && !series {
			return event.CopyColumns
		}
		return event.CopyIndex
	}
	return event.CopyObject
}

// reached finds out by which names the objects that must be copied are reached, and whether there is no other way to
// them.
func (v *Viewing) reached(f *Held) bool {
	for i := range f.Targets {
		t := &f.Targets[i]
		if t.object == 0 {
			return false
		}
		switch kind := v.Nodes[t.node].Kind; {
		case kind == walk.KindCycle:
			f.Collect = true
			continue
		case kind != walk.KindVariable: // an object of other code, or an output's
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
	for _, t := range f.Targets {
		if t.isHidden && v.Nodes[t.node].Kind != walk.KindCycle && !f.replaces(t) {
			return false // it has a name of its own
		}
	}
	return f.worth()
}

// see takes in an object that must be copied, and how.
func (v *Viewing) see(f *Held, t *Target) bool {
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
func (f *Held) viewerOf(object uint64) *event.Viewer {
	if i := slices.Index(f.objects, object); i >= 0 {
		return &f.Viewers[i]
	}
	return nil
}

// replaces reports whether a hidden object goes when the object that must be copied is replaced as a whole, and notes
// that it must be.
func (f *Held) replaces(t Target) bool {
	one := f.viewerOf(t.object)
	if one == nil || t.object == t.View {
		return false
	}
	if !slices.Contains(one.How, event.CopyObject) {
		one.How = append(one.How, event.CopyObject)
	}
	return true
}

// managers returns how many of pandas' block managers lie between a view and the frame that it is a part of.
func (v *Viewing) managers(view, frame int32) (n int) {
	for at := view; at >= 0 && at != frame; at = v.Nodes[at].Parent {
		if t := v.ObjectType(v.Addrs[at]); t != nil && (t.Name == "BlockManager" || t.Name == "SingleBlockManager") {
			n++
		}
	}
	return n
}

// straight reports whether each object between a view and the copied one has no other holder than the one that leads
// there.
func (v *Viewing) straight(f *Held, t *Target) bool {
	n, _ := v.Known(t.View)
	for n != t.node && n >= 0 {
		if v.Nodes[n].Probable || v.referencesOf(v.Addrs[n])-f.holds[v.Addrs[n]] != 1 {
			return false
		}
		n = v.Nodes[n].Parent
	}
	return n >= 0
}

// viewer is an object that must be copied, with all places that refer to it.
func (v *Viewing) viewer(f *Held, t *Target) (one event.Viewer, ok bool) {
	if typ := v.ObjectType(t.object); typ != nil {
		one.Type = typ.Name
	}
	one.Paths = slices.Clone(v.places.Names[t.object])
	one.Outputs = v.places.Outputs[t.object]
	seen := int64(len(one.Paths)) + v.places.Own[t.object]
	for _, id := range v.places.Others[t.object] {
		addr := v.Notes.Addrs[id]
		n, known := v.Known(addr)
		if !known || v.Nodes[n].Kind != walk.KindVariable || len(one.Paths) > objects.MaxAlso {
			return one, false
		}
		one.Paths = append(one.Paths, v.pathOf(n)+v.stepTo(n, t.object))
		one.Fixed = one.Fixed || v.IsShape(addr, objects.ShapeTuple, objects.ShapeSet, objects.ShapeDeque,
			objects.ShapeFunction, objects.ShapeCell)
		seen++
	}
	if path := v.pathOf(t.node); len(one.Paths) == 0 || !slices.Contains(one.Paths, path) {
		return one, false
	}
	return one, seen == v.referencesOf(t.object)-f.holds[t.object]
}

// pathOf is how a node is reached.
func (v *Viewing) pathOf(n int32) string {
	var h event.Holder
	v.paths.Describe(&h, n)
	root := v.paths.RootNode(n)
	if v.paths.LabelOf(root).Kind == walk.LabelRoot {
		return h.Path
	}
	if names := v.places.Names[v.Addrs[root]]; len(names) > 0 { // a listing has names apart
		return names[0] + h.Path
	}
	return ""
}

// stepTo is how an object refers to another, as one types it.
func (v *Viewing) stepTo(n int32, to uint64) string {
	step, _ := v.paths.Step(n, paths.LabelBetween(v.Walker, v.Addrs[n], to))
	return step
}
