package holders

import (
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// leastArray is the least size in bytes for which NumPy takes new memory for an array. NumPy keeps smaller pieces in a
// cache.
const leastArray = 1 << 10

// aim finds the object that must be copied for a view: the object nearest to the root that can be copied, on the path
// to the view.
func (v *viewing) aim(target *target) {
	target.object, target.node = 0, -1
	n, ok := v.Known(target.View)
	if !ok {
		return
	}
	for at, steps := n, 0; at >= 0 && steps < walk.MaxPathSteps*2; at, steps = v.Nodes[at].Parent, steps+1 {
		if v.Nodes[at].What == walk.NodeFrame {
			target.object, target.node = 0, -1
			return
		}
		if how := v.copyOf(v.Addrs[at]); how != "" {
			target.object, target.node, target.how = v.Addrs[at], at, how
		}
	}
	if target.arrow && target.node >= 0 {
		aimArrow(v, n, target)
	} else if target.how == event.CopyObject && target.object != target.View {
		target.how = v.partOf(n, target.node)
		target.isHidden = target.isHidden || v.managers(n, target.node) > 1
	}
}

// aimArrow corrects the target of an object of pyarrow's that is a part of an object of pandas'. copy() of pandas would
// share the object of pyarrow's, so the object of pandas' must be made anew. An axis of a frame cannot be.
func aimArrow(v *viewing, n int32, target *target) {
	lineage := v.Lineage(v.ObjectType(target.object))
	switch {
	case target.how != event.CopyObject:
	case !lineage.Is("NDFrame") && !lineage.Is("IndexOpsMixin"), v.partOf(n, target.node) != event.CopyObject:
		target.object, target.node = 0, -1
	case lineage.Is("DataFrame"):
		target.how = event.CopyAnew
	default:
		target.how = event.CopyRepeated
	}
}

// copyOfArrow returns the way to copy an object of pyarrow's, by its class; "" if it cannot be copied.
func copyOfArrow(lineage objects.Lineage) event.ViewCopy {
	for _, known := range []struct {
		class string
		how   event.ViewCopy
	}{
		{"Table", event.CopyTable}, {"RecordBatch", event.CopyBatch}, {"ChunkedArray", event.CopyChunked},
		{"Array", event.CopyArrow},
	} {
		if lineage.Is("pyarrow.lib." + known.class) {
			return known.how
		}
	}
	return ""
}

// copyOf returns the way to copy an object, "" if it cannot be copied.
func (v *viewing) copyOf(addr uint64) event.ViewCopy {
	typ := v.ObjectType(addr)
	switch {
	case typ == nil:
	case typ.Shape == objects.ShapeArray:
		return event.CopyObject
	case typ.Name == objects.MemoryView:
		return event.CopyBytes
	case typ.Arrow:
		return copyOfArrow(v.Lineage(typ))
	case typ.Native && v.IsTensor(typ):
		if v.hasGraph(addr) {
			return event.CopyLoose
		}
		return event.CopyTensor
	case typ.Flags&cpython.FlagHeapType != 0 && v.isPandas(typ):
		return event.CopyObject
	}
	return ""
}

// isPandas reports whether objects of a type are pandas' frames, series or indices.
func (v *viewing) isPandas(typ *objects.Type) bool {
	lineage := v.Lineage(typ)
	return lineage.Is("NDFrame") || lineage.Is("IndexOpsMixin")
}

// partOf returns how to copy the part of a frame that has a view. For the frame's data that is a copy of the frame. A
// copy of the frame shares the axes, so these are copied by themselves.
func (v *viewing) partOf(view, frame int32) event.ViewCopy {
	series := v.Lineage(v.ObjectType(v.Addrs[frame])).Is("Series")
	for at := view; at >= 0 && at != frame; at = v.Nodes[at].Parent {
		typ := v.ObjectType(v.Addrs[at])
		if typ == nil || !v.Lineage(typ).Is("IndexOpsMixin") || v.Lineage(typ).Is("NDFrame") {
			continue
		}
		if l := v.paths.LabelOf(at); l.Kind == walk.LabelIndex && l.Arg == 0 && !series {
			return event.CopyColumns
		}
		return event.CopyIndex
	}
	return event.CopyObject
}

// canCopy fills in the viewers of memory: the objects that must be copied, under their names. It returns false if
// something else holds the memory, so that copies would not free it, or if copies are not worth their cost.
func (v *viewing) canCopy(held *Held) bool {
	for i := range held.targets {
		target := &held.targets[i]
		if target.object == 0 {
			return false
		}
		switch kind := v.Nodes[target.node].Kind; {
		case kind == walk.KindCycle:
			held.Collect = true
			continue
		case kind != walk.KindVariable: // an object of other code, or an output's
			return false
		case !v.isOnlyPath(held, target):
			return false
		case target.isHidden:
			continue
		case !v.addViewer(held, target):
			return false
		}
		held.Used, held.Copies = held.Used+event.Bytes(target.used), held.Copies+event.Bytes(target.copies)
		if target.copies < leastArray {
			held.Small += event.Bytes(target.copies)
		}
	}
	for _, target := range held.targets {
		if target.isHidden && v.Nodes[target.node].Kind != walk.KindCycle && !held.copyWhole(target) {
			return false // nothing that is copied frees it
		}
	}
	return held.isWorthwhile()
}

// addViewer adds the object that must be copied for a target to the viewers. It returns false if places beyond known
// names refer to the object.
func (v *viewing) addViewer(held *Held, target *target) bool {
	viewer := held.viewerOf(target.object)
	if viewer == nil {
		added, ok := v.viewer(held, target)
		if !ok {
			return false
		}
		held.Viewers, held.objects = append(held.Viewers, added), append(held.objects, target.object)
		viewer = &held.Viewers[len(held.Viewers)-1]
	}
	viewer.Used += event.Bytes(target.used)
	if !slices.Contains(viewer.How, target.how) {
		viewer.How = append(viewer.How, target.how)
	}
	return true
}

// managers returns how many of pandas' block managers lie between a view and the frame that it is a part of.
func (v *viewing) managers(view, frame int32) (n int) {
	for at := view; at >= 0 && at != frame; at = v.Nodes[at].Parent {
		typ := v.ObjectType(v.Addrs[at])
		if typ != nil && (typ.Name == "BlockManager" || typ.Name == "SingleBlockManager") {
			n++
		}
	}
	return n
}

// isOnlyPath reports whether each object on the path from the copied object to a view, the view included, has no other
// holder than the object before it on the path.
func (v *viewing) isOnlyPath(held *Held, target *target) bool {
	n, _ := v.Known(target.View)
	for n != target.node && n >= 0 {
		if v.Nodes[n].Probable || v.referencesOf(v.Addrs[n])-held.holds[v.Addrs[n]] != 1 {
			return false
		}
		n = v.Nodes[n].Parent
	}
	return n >= 0
}

// viewer describes an object that must be copied, with all places that refer to it. ok is false if there may be others.
func (v *viewing) viewer(held *Held, target *target) (viewer event.Viewer, ok bool) {
	if typ := v.ObjectType(target.object); typ != nil {
		viewer.Type = typ.Name
	}
	viewer.Paths = slices.Clone(v.places.names[target.object])
	viewer.Outputs = v.places.outputs[target.object]
	seen := int64(len(viewer.Paths)) + v.places.own[target.object]
	for _, id := range v.places.others[target.object] {
		addr := v.Notes.Addrs[id]
		n, known := v.Known(addr)
		if !known || v.Nodes[n].Kind != walk.KindVariable || len(viewer.Paths) > objects.MaxAlso {
			return viewer, false
		}
		step, _ := v.paths.Step(n, walk.LabelBetween(v.Walker, addr, target.object))
		viewer.Paths = append(viewer.Paths, v.pathOf(n)+step)
		viewer.Fixed = viewer.Fixed || v.IsShape(addr, objects.ShapeTuple, objects.ShapeSet, objects.ShapeDeque,
			objects.ShapeFunction, objects.ShapeCell)
		seen++
	}
	if path := v.pathOf(target.node); len(viewer.Paths) == 0 || !slices.Contains(viewer.Paths, path) {
		return viewer, false
	}
	return viewer, seen == v.referencesOf(target.object)-held.holds[target.object]
}

// pathOf returns the path to a node, "" for none.
func (v *viewing) pathOf(n int32) string {
	var h event.Holder
	v.paths.Describe(&h, n)
	root := v.paths.RootNode(n)
	if v.paths.LabelOf(root).Kind == walk.LabelRoot {
		return h.Path
	}
	if names := v.places.names[v.Addrs[root]]; len(names) > 0 { // in a listing roots have no labels
		return names[0] + h.Path
	}
	return ""
}
