package paths

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// LostCycles are the objects of cycles that the collector does not see, and those that only they lead to. It takes an
// object for one in use if it does not see a reference to it that its reference count has. So a cycle is lost where one
// of its references is hidden, see [objects.Type.Hides]: its objects stay for good, and with them everything that they
// hold. Where only a reference from outside is hidden, that one goes with the object that has it.
type LostCycles struct {
	first     int32 // the number of the first node without a root
	arcs      Arcs
	hidden    Arcs
	back      Graph   // arcs turned round, of nodes from first on
	on        []Arc   // those that make cycles lost, each from an object that hides it
	part      []int32 // the cycle that has each node lost, -1 for none
	described map[int32]*event.Lost
	names     map[*objects.Type]string // of variables, by the types of their objects; nil until it is asked for
}

// Bounds of the description of lost cycles.
const (
	MaxArcs     = 1 << 25 // references
	maxTold     = 256     // cycles of a process
	maxCuts     = 4       // objects of a cycle that hide a reference of it
	maxBehind   = 1 << 12 // objects that are gone through from each of these
	maxReferred = 1 << 16 // references that are gone through from each
)

// take takes in a reference between objects without a root.
func (l *LostCycles) take(c *counts, from, to int32) {
	if from < l.first || to < l.first || int(to-l.first) >= len(c.live) || c.live[to-l.first] {
		return
	}
	if l.arcs.Count == MaxArcs {
		c.Stopped = objects.ErrObjects
		return
	}
	l.arcs.Add(from-l.first, to-l.first)
	if c.Hides(from) || isUntracked(c.Walker, from) {
		l.hidden.Add(from-l.first, to-l.first)
	}
}

// isUntracked reports whether the collector does not know an object of a type of which it knows others. It does not
// know dicts and tuples of objects that it does not know either.
func isUntracked(w *walk.Walker, n int32) bool {
	id, t := w.Nodes[n].ID, w.TypeOf(n)
	if id < 0 || w.Nodes[n].What != walk.NodeObject || t == nil || !w.Notes.Collector.Complete {
		return false
	}
	switch t.Shape {
	case objects.ShapeDict, objects.ShapeTuple, objects.ShapeType:
		return false
	}
	return !w.Notes.Noted[id].Is(objects.NoteTracked)
}

// findLost finds the lost cycles, once it is known which objects without a root are held from outside.
func findLost(c *counts, d *doubtful) *LostCycles {
	l := &LostCycles{first: c.first, described: map[int32]*event.Lost{}}
	hides := false
	for i := range c.live {
		t := c.TypeOf(c.first + int32(i))
		hides = hides || !c.live[i] && t != nil && t.HiddenBefore != 0
	}
	if !hides {
		return nil
	}
	c.lost = l
	for i := 0; i < len(c.live) && !c.Done(); i++ {
		if n := c.first + int32(i); !c.live[i] && c.Nodes[n].What != walk.NodePart {
			c.Visit(n)
			for _, to := range d.from[n] {
				l.take(c, n, to)
			}
		}
	}
	c.lost, c.Beliefs.Doubts = nil, nil
	named := func(tail int32) int32 { return tail }
	g := NewGraph(len(c.live), l.arcs, named, false)
	let := func(v int32) bool { return !c.live[v] }
	if l.on, l.part = g.OnCycles(&l.hidden, let); len(l.on) == 0 {
		return nil
	}
	slices.SortStableFunc(l.on, func(a, b Arc) int {
		return cmp.Or(cmp.Compare(l.part[a.Tail], l.part[b.Tail]), cmp.Compare(a.Tail, b.Tail))
	})
	g.Spread(l.part, let)
	l.back = NewGraph(len(c.live), l.arcs, named, true)
	l.arcs, l.hidden = Arcs{}, Arcs{}
	return l
}

// cycle returns the number of the cycle that has a node lost, -1 for none.
func (l *LostCycles) cycle(n int32) int32 {
	if l == nil || n < l.first || int(n-l.first) >= len(l.part) {
		return -1
	}
	return l.part[n-l.first]
}

// LostOf describes the cycle that has a node lost; nil for none.
func (p *Writer) LostOf(n int32) *event.Lost {
	l := p.Lost
	cycle := l.cycle(n)
	if cycle < 0 {
		return nil
	}
	one, known := l.described[cycle]
	if !known {
		one = &event.Lost{}
		if len(l.described) < maxTold {
			p.describeLost(one, cycle)
		}
		l.described[cycle] = one
	}
	return one
}

// describeLost describes a cycle: an object of it that the collector knows, and from there the objects that hide
// references of the cycle.
func (p *Writer) describeLost(one *event.Lost, cycle int32) {
	l := p.Lost
	begin, last := int32(-1), int32(-1)
	first, _ := slices.BinarySearchFunc(l.on, cycle, func(a Arc, cycle int32) int {
		return cmp.Compare(l.part[a.Tail], cycle)
	})
	for i, a := range l.on[first:] {
		at := a.Tail + l.first
		if l.part[a.Tail] != cycle {
			break
		}
		if at == last || !p.isCut(a) {
			continue
		}
		last = at
		if len(one.Cuts) == maxCuts || i == maxBehind {
			one.More = true
			break
		}
		way := p.wayTo(at, begin)
		if begin < 0 {
			if begin = way[0]; p.isTracked(begin) {
				one.Address = p.Addrs[begin]
			}
			if t := p.TypeOf(begin); t != nil {
				one.Type, one.Name = t.Name, p.variableOf(t)
			}
		}
		cut, ok := p.cutAt(way)
		one.Cuts = append(one.Cuts, cut)
		one.More = one.More || !ok || way[0] != begin
	}
}

// isCut reports whether a hidden reference is one to cut: where it leads to an object that hides the next one, that is
// cut.
func (p *Writer) isCut(a Arc) bool {
	to := p.TypeOf(a.Head + p.Lost.first)
	return a.Head == a.Tail || to == nil || to.HiddenBefore != objects.HidesAll
}

// wayTo returns the shortest way through objects of a cycle to one of them: from a given one, or where that is -1 from
// the nearest other instance of a class that was written in Python. Without such an instance it begins at the nearest
// object that the collector knows.
func (p *Writer) wayTo(last, begin int32) []int32 {
	next := map[int32]int32{last: last}
	queue := []int32{last}
	left := maxReferred
	for i := 0; i < len(queue) && i < maxBehind; i++ {
		at := queue[i]
		if at == begin || begin < 0 && i > 0 && p.isInstance(at) {
			return wayOf(next, at)
		}
		p.before(at, &left, func(n int32) {
			if _, known := next[n]; !known {
				next[n] = at
				queue = append(queue, n)
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
func (p *Writer) isInstance(n int32) bool {
	t := p.TypeOf(n)
	return p.isTracked(n) && t != nil && t.Flags&cpython.FlagHeapType != 0 &&
		(t.Shape == objects.ShapeWords || t.Shape == objects.ShapeArray) && !t.Native
}

// isTracked reports whether the collector knows the object of a node.
func (p *Writer) isTracked(n int32) bool {
	id := p.Nodes[n].ID
	return id >= 0 && p.Notes.Noted[id].Is(objects.NoteTracked)
}

// variableOf returns the name of a variable that has an object of a type, "" for none.
func (p *Writer) variableOf(t *objects.Type) string {
	l := p.Lost
	if l.names == nil {
		l.names = map[*objects.Type]string{}
		for n := range l.first {
			of, one := p.TypeOf(n), &p.Nodes[n]
			if way := p.Labels[one.Label]; one.Parent < 0 && one.Kind == walk.KindVariable &&
				way.Kind == walk.LabelRoot {
				if _, known := l.names[of]; !known {
					l.names[of] = p.Names[way.Arg]
				}
			}
		}
	}
	return l.names[t]
}

// cutAt describes the last object of a way, or the last one before it that a path in Python leads to. It reports
// whether nothing else of the cycle leads on from there.
func (p *Writer) cutAt(way []int32) (cut event.Cut, ok bool) {
	ok = true
	for i := 1; i < len(way); i++ {
		step, _ := p.Step(way[i], LabelBetween(p.Walker, p.Addrs[way[i-1]], p.Addrs[way[i]]))
		if i == MaxSteps || strings.ContainsAny(step, "<…(") || len(cut.Path)+len(step) > MaxPath {
			ok = i > 1 && i < MaxSteps && p.isBehindOne(way[i])
			way = way[:i]
			break
		}
		cut.Path += step
	}
	last := way[len(way)-1]
	if t := p.TypeOf(last); t != nil {
		cut.Type = t.Name
		cut.Fill = t.Shape == objects.ShapeArray && p.ArrayObjects(p.Addrs[last]) > 0
	}
	return cut, ok
}

// before calls yield with the objects of a node's cycle that refer to it, some of them more than once. It takes from
// what is left of references.
func (p *Writer) before(n int32, left *int, yield func(n int32)) {
	l := p.Lost
	for _, from := range l.back.Of(n - l.first) {
		if *left--; *left < 0 {
			return
		}
		if l.part[from] == l.part[n-l.first] {
			yield(from + l.first)
		}
	}
}

// isBehindOne reports whether only one object of a node's cycle refers to it.
func (p *Writer) isBehindOne(n int32) bool {
	left, one, is := maxReferred, int32(-1), true
	p.before(n, &left, func(from int32) {
		is = is && (one < 0 || one == from)
		one = from
	})
	return is && left >= 0
}
