package walk

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// lostOf describes the lost cycle that holds a node, nil for none. After maxTold cycles the description is empty.
func (p *PathWriter) lostOf(node int32) *event.Lost {
	lost := p.Lost
	cycle := lost.cycle(node)
	if cycle < 0 {
		return nil
	}
	described, known := lost.described[cycle]
	if !known {
		described = &event.Lost{}
		if len(lost.described) < maxTold {
			p.describeLost(described, cycle)
		}
		lost.described[cycle] = described
	}
	return described
}

// describeLost describes a lost cycle: an object of the cycle that the collector knows, and the paths from there to the
// objects that hide references of the cycle.
func (p *PathWriter) describeLost(out *event.Lost, cycle int32) {
	lost := p.Lost
	begin, last := int32(-1), int32(-1)
	first, _ := slices.BinarySearchFunc(lost.on, cycle, func(a arc, cycle int32) int {
		return cmp.Compare(lost.part[a.tail], cycle)
	})
	for i, a := range lost.on[first:] {
		at := a.tail + lost.first
		if lost.part[a.tail] != cycle {
			break
		}
		if at == last || !p.isCut(a) {
			continue
		}
		last = at
		if len(out.Cuts) == maxCuts || i == maxBehind {
			out.More = true
			break
		}
		way := p.wayTo(at, begin)
		if begin < 0 {
			if begin = way[0]; p.isTracked(begin) {
				out.Address = p.Addrs[begin]
			}
			if typ := p.TypeOf(begin); typ != nil {
				out.Type, out.Name = typ.Name, p.variableOf(typ)
			}
		}
		cut, ok := p.cutAt(way)
		out.Cuts = append(out.Cuts, cut)
		out.More = out.More || !ok || way[0] != begin
	}
}

// isCut reports whether to cut a hidden reference. If the reference's target hides all of its own references, one of
// those is cut instead.
func (p *PathWriter) isCut(a arc) bool {
	to := p.TypeOf(a.head + p.Lost.first)
	return a.head == a.tail || to == nil || to.HiddenBefore != objects.HidesAll
}

// wayTo returns the shortest way through objects of a cycle, from begin to last. If begin is -1, the way begins at the
// nearest other instance of a class that was written in Python. Without such an instance it begins at the nearest
// object that the collector knows.
func (p *PathWriter) wayTo(last, begin int32) []int32 {
	next := map[int32]int32{last: last}
	queue := []int32{last}
	left := maxReferred
	for i := 0; i < len(queue) && i < maxBehind; i++ {
		at := queue[i]
		isOtherInstance := i > 0 && p.isInstance(at)
		if at == begin || begin < 0 && isOtherInstance {
			return wayOf(next, at)
		}
		p.eachReferrer(at, &left, func(node int32) {
			if _, known := next[node]; !known {
				next[node] = at
				queue = append(queue, node)
			}
		})
	}
	for _, at := range append(queue[1:], last) {
		if begin < 0 && p.isTracked(at) {
			return wayOf(next, at)
		}
	}
	return []int32{last}
}

// wayOf returns the way from an object along next, which has the end of the way as its own successor.
func wayOf(next map[int32]int32, at int32) (way []int32) {
	for {
		way = append(way, at)
		if next[at] == at {
			return way
		}
		at = next[at]
	}
}

// isInstance reports whether a node is an instance of a class that was written in Python.
func (p *PathWriter) isInstance(node int32) bool {
	typ := p.TypeOf(node)
	return p.isTracked(node) && typ != nil && typ.Flags&cpython.FlagHeapType != 0 &&
		(typ.Shape == objects.ShapeWords || typ.Shape == objects.ShapeArray) && !typ.Native
}

// isTracked reports whether the collector knows the object of a node.
func (p *PathWriter) isTracked(node int32) bool {
	id := p.Nodes[node].ID
	return id >= 0 && p.Notes.Noted[id].Is(objects.NoteTracked)
}

// variableOf returns the name of a variable that has an object of a type; "" for none.
func (p *PathWriter) variableOf(typ *objects.Type) string {
	lost := p.Lost
	if lost.names == nil {
		lost.names = map[*objects.Type]string{}
		for node := range lost.first {
			nodeType, n := p.TypeOf(node), &p.Nodes[node]
			label := p.Labels[n.Label]
			if n.Parent >= 0 || n.Kind != KindVariable || label.Kind != LabelRoot {
				continue
			}
			if _, known := lost.names[nodeType]; !known {
				lost.names[nodeType] = p.Names[label.Arg]
			}
		}
	}
	return lost.names[typ]
}

// cutAt describes the last object of a way to which a path in Python leads. ok is true if that is the last object of
// the way, or if no other object of the cycle refers to the object behind it.
func (p *PathWriter) cutAt(way []int32) (cut event.Cut, ok bool) {
	ok = true
	for i := 1; i < len(way); i++ {
		step, _ := p.Step(way[i], LabelBetween(p.Walker, p.Addrs[way[i-1]], p.Addrs[way[i]]))
		if i == MaxPathSteps || strings.ContainsAny(step, "<…(") || len(cut.Path)+len(step) > MaxPath {
			ok = i > 1 && i < MaxPathSteps && p.isBehindOne(way[i])
			way = way[:i]
			break
		}
		cut.Path += step
	}
	last := way[len(way)-1]
	if typ := p.TypeOf(last); typ != nil {
		cut.Type = typ.Name
		cut.Fill = typ.Shape == objects.ShapeArray && p.ArrayObjects(p.Addrs[last]) > 0
	}
	return cut, ok
}

// eachReferrer calls yield with the objects of a node's cycle that refer to the node, perhaps several times for an
// object. left is how many references may still be looked at.
func (p *PathWriter) eachReferrer(node int32, left *int, yield func(node int32)) {
	lost := p.Lost
	for _, from := range lost.back.Of(node - lost.first) {
		if *left--; *left < 0 {
			return
		}
		if lost.part[from] == lost.part[node-lost.first] {
			yield(from + lost.first)
		}
	}
}

// isBehindOne reports whether only one object of a node's cycle refers to the node.
func (p *PathWriter) isBehindOne(node int32) bool {
	left, last, onlyOne := maxReferred, int32(-1), true
	p.eachReferrer(node, &left, func(from int32) {
		onlyOne = onlyOne && (last < 0 || last == from)
		last = from
	})
	return onlyOne && left >= 0
}
