package views

import (
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/paths"
	"ipytracer/internal/python/holders/walk"
)

// leastArray is the least size in bytes for which NumPy takes new memory for an array. NumPy keeps smaller pieces in a
// cache.
const leastArray = 1 << 10

// target is a view on the way to the object that must be copied for it.
type target struct {
	View         uint64
	used, copies uint64
	object       uint64 // the object that is copied: the view itself, or the frame that it is a part of
	node         int32
	how          event.ViewCopy
	// isHidden: the object is the owner of the memory, or a view that is freed with another view and is not copied with
	// it. An example: a sliced frame keeps the frame that it is a slice of.
	isHidden bool
	arrow    bool // it is one of pyarrow's, or has one
}

// aim finds the object that must be copied for a view: the first on the way to it that can be.
func (v *viewing) aim(target *target) {
	target.object, target.node = 0, -1
	n, ok := v.Known(target.View)
	if !ok {
		return
	}
	for at, steps := n, 0; at >= 0 && steps < paths.MaxSteps*2; at, steps = v.Nodes[at].Parent, steps+1 {
		if v.Nodes[at].What == walk.NodeFrame {
			target.object, target.node = 0, -1
			return
		}
		if how := v.howOf(v.Addrs[at]); how != "" {
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

// aimArrow is aim for pyarrow's objects: the copies of pandas' objects share them, so that these are made anew. An axis
// of a frame is not.
func aimArrow(v *viewing, n int32, target *target) {
	of := v.Lineage(v.ObjectType(target.object))
	switch {
	case target.how != event.CopyObject:
	case !of.Is("NDFrame") && !of.Is("IndexOpsMixin"), v.partOf(n, target.node) != event.CopyObject:
		target.object, target.node = 0, -1
	case of.Is("DataFrame"):
		target.how = event.CopyAnew
	default:
		target.how = event.CopyRepeated
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
func (v *viewing) howOf(addr uint64) event.ViewCopy {
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
	case typ.Flags&(1<<9) != 0 && v.isPandas(typ): // a class
		return event.CopyObject
	}
	return ""
}

// isPandas reports whether objects of a type are pandas' frames, series or indices.
func (v *viewing) isPandas(typ *objects.Type) bool {
	of := v.Lineage(typ)
	return of.Is("NDFrame") || of.Is("IndexOpsMixin")
}

// partOf returns the part of a frame that a view is of: its data, or one of its axes, which a copy of the frame shares
// with it.
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

// reached finds out by which names the objects that must be copied are reached, and whether there is no other way to
// them.
func (v *viewing) reached(held *Held) bool {
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
		case !v.straight(held, target):
			return false
		case target.isHidden:
			continue
		case !v.see(held, target):
			return false
		}
		held.Used, held.Copies = held.Used+event.Bytes(target.used), held.Copies+event.Bytes(target.copies)
		if target.copies < leastArray {
			held.Small += event.Bytes(target.copies)
		}
	}
	for _, target := range held.targets {
		if target.isHidden && v.Nodes[target.node].Kind != walk.KindCycle && !held.copyWhole(target) {
			return false // it has a name of its own
		}
	}
	return held.worth()
}

// see takes in an object that must be copied, and how.
func (v *viewing) see(held *Held, target *target) bool {
	one := held.viewerOf(target.object)
	if one == nil {
		added, ok := v.viewer(held, target)
		if !ok {
			return false
		}
		held.Viewers, held.objects = append(held.Viewers, added), append(held.objects, target.object)
		one = &held.Viewers[len(held.Viewers)-1]
	}
	one.Used += event.Bytes(target.used)
	if !slices.Contains(one.How, target.how) {
		one.How = append(one.How, target.how)
	}
	return true
}

// viewerOf returns the viewer of an object, nil if it need not be copied.
func (held *Held) viewerOf(object uint64) *event.Viewer {
	if i := slices.Index(held.objects, object); i >= 0 {
		return &held.Viewers[i]
	}
	return nil
}

// copyWhole has the object around a hidden view copied as a whole (x = x.copy()), which lets go of the view. It reports
// false if no name shows that object, or if the view is the object itself.
func (held *Held) copyWhole(target target) bool {
	one := held.viewerOf(target.object)
	if one == nil || target.object == target.View {
		return false
	}
	if !slices.Contains(one.How, event.CopyObject) {
		one.How = append(one.How, event.CopyObject)
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

// straight reports whether each object between a view and the copied one has no other holder than the one that leads
// there.
func (v *viewing) straight(held *Held, target *target) bool {
	n, _ := v.Known(target.View)
	for n != target.node && n >= 0 {
		if v.Nodes[n].Probable || v.referencesOf(v.Addrs[n])-held.holds[v.Addrs[n]] != 1 {
			return false
		}
		n = v.Nodes[n].Parent
	}
	return n >= 0
}

// viewer describes an object that must be copied, with all places that refer to it.
func (v *viewing) viewer(held *Held, target *target) (one event.Viewer, ok bool) {
	if typ := v.ObjectType(target.object); typ != nil {
		one.Type = typ.Name
	}
	one.Paths = slices.Clone(v.places.names[target.object])
	one.Outputs = v.places.outputs[target.object]
	seen := int64(len(one.Paths)) + v.places.own[target.object]
	for _, id := range v.places.others[target.object] {
		addr := v.Notes.Addrs[id]
		n, known := v.Known(addr)
		if !known || v.Nodes[n].Kind != walk.KindVariable || len(one.Paths) > objects.MaxAlso {
			return one, false
		}
		step, _ := v.paths.Step(n, paths.LabelBetween(v.Walker, addr, target.object))
		one.Paths = append(one.Paths, v.pathOf(n)+step)
		one.Fixed = one.Fixed || v.IsShape(addr, objects.ShapeTuple, objects.ShapeSet, objects.ShapeDeque,
			objects.ShapeFunction, objects.ShapeCell)
		seen++
	}
	if path := v.pathOf(target.node); len(one.Paths) == 0 || !slices.Contains(one.Paths, path) {
		return one, false
	}
	return one, seen == v.referencesOf(target.object)-held.holds[target.object]
}

// pathOf returns the path to a node, "" for none.
func (v *viewing) pathOf(n int32) string {
	var h event.Holder
	v.paths.Describe(&h, n)
	root := v.paths.RootNode(n)
	if v.paths.LabelOf(root).Kind == walk.LabelRoot {
		return h.Path
	}
	if names := v.places.names[v.Addrs[root]]; len(names) > 0 { // a listing has names apart
		return names[0] + h.Path
	}
	return ""
}
