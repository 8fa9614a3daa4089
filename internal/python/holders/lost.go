package holders

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/graphs"
)

// lost are the objects of cycles that the collector does not see, and those that only they lead to. It takes an object
// for one in use if it does not see a reference to it that its reference count has. So a cycle is lost where one of its
// references is hidden, see unvisited.go: its objects stay for good, and with them everything that they hold. Where
// only a reference from outside is hidden, that one goes with the object that has it.
type lost struct {
	first  int32 // the number of the first node without a root
	arcs   graphs.Arcs
	hidden graphs.Arcs
	back   graphs.Graph // arcs turned round, of nodes from first on
	on     []graphs.Arc // those that make cycles lost, each from an object that hides it
	part   []int32      // the cycle that has each node lost, -1 for none
	told   map[int32]*event.Lost
	names  map[*typ]string // of variables, by the types of their objects; nil until it is asked for
}

// Bounds of the description of lost cycles.
const (
	maxArcs     = 1 << 25 // references
	maxTold     = 256     // cycles of a process
	maxCuts     = 4       // objects of a cycle that hide a reference of it
	maxBehind   = 1 << 12 // objects that are gone through from each of these
	maxReferred = 1 << 16 // references that are gone through from each
)

// take takes in a reference between objects without a root.
func (l *lost) take(c *counts, from, to int32) {
	if from < l.first || to < l.first || int(to-l.first) >= len(c.live) || c.live[to-l.first] {
		return
	}
	if l.arcs.Count == maxArcs {
		c.stopped = errObjects
		return
	}
	l.arcs.Add(from-l.first, to-l.first)
	if c.hides(from) || isUntracked(c.walker, from) {
		l.hidden.Add(from-l.first, to-l.first)
	}
}

// isUntracked reports whether the collector does not know an object of a type of which it knows others. It does not
// know dicts and tuples of objects that it does not know either.
func isUntracked(w *walker, n int32) bool {
	id, t := w.nodes[n].id, w.typeOf(n)
	if id < 0 || w.nodes[n].what != nodeObject || t == nil || !w.notes.collector.whole {
		return false
	}
	switch t.shape {
	case shapeDict, shapeTuple, shapeType:
		return false
	}
	return !w.notes.noted[id].is(noteTracked)
}

// findLost finds the lost cycles, once it is known which objects without a root are held from outside.
func findLost(c *counts, d *doubtful) *lost {
	l := &lost{first: c.first, told: map[int32]*event.Lost{}}
	hides := false
	for i := range c.live {
		t := c.typeOf(c.first + int32(i))
		hides = hides || !c.live[i] && t != nil && t.hides != 0
	}
	if !hides {
		return nil
	}
	c.lost = l
	for i := 0; i < len(c.live) && !c.done(); i++ {
		if n := c.first + int32(i); !c.live[i] && c.nodes[n].what != nodePart {
			c.visit(n)
			for _, to := range d.from[n] {
				l.take(c, n, to)
			}
		}
	}
	c.lost, c.beliefs.doubts = nil, nil
	named := func(tail int32) int32 { return tail }
	g := graphs.New(len(c.live), l.arcs, named, false)
	let := func(v int32) bool { return !c.live[v] }
	if l.on, l.part = g.OnCycles(&l.hidden, let); len(l.on) == 0 {
		return nil
	}
	slices.SortStableFunc(l.on, func(a, b graphs.Arc) int {
		return cmp.Or(cmp.Compare(l.part[a.Tail], l.part[b.Tail]), cmp.Compare(a.Tail, b.Tail))
	})
	g.Spread(l.part, let)
	l.back = graphs.New(len(c.live), l.arcs, named, true)
	l.arcs, l.hidden = graphs.Arcs{}, graphs.Arcs{}
	return l
}

// cycle returns the number of the cycle that has a node lost, -1 for none.
func (l *lost) cycle(n int32) int32 {
	if l == nil || n < l.first || int(n-l.first) >= len(l.part) {
		return -1
	}
	return l.part[n-l.first]
}

// lostOf describes the cycle that has a node lost; nil for none.
func (p *paths) lostOf(n int32) *event.Lost {
	l := p.lost
	cycle := l.cycle(n)
	if cycle < 0 {
		return nil
	}
	one, known := l.told[cycle]
	if !known {
		one = &event.Lost{}
		if len(l.told) < maxTold {
			p.tellLost(one, cycle)
		}
		l.told[cycle] = one
	}
	return one
}

// tellLost describes a cycle: an object of it that the collector knows, and from there the objects that hide references
// of the cycle.
func (p *paths) tellLost(one *event.Lost, cycle int32) {
	l := p.lost
	begin, last := int32(-1), int32(-1)
	first, _ := slices.BinarySearchFunc(l.on, cycle, func(a graphs.Arc, cycle int32) int {
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
				one.Address = p.addrs[begin]
			}
			if t := p.typeOf(begin); t != nil {
				one.Type, one.Name = t.name, p.variableOf(t)
			}
		}
		cut, ok := p.cutAt(way)
		one.Cuts = append(one.Cuts, cut)
		one.More = one.More || !ok || way[0] != begin
	}
}

// isCut reports whether a hidden reference is one to cut: where it leads to an object that hides the next one, that is
// cut.
func (p *paths) isCut(a graphs.Arc) bool {
	to := p.typeOf(a.Head + p.lost.first)
	return a.Head == a.Tail || to == nil || to.hides != hidesAll
}

// wayTo returns the shortest way through objects of a cycle to one of them: from a given one, or where that is -1 from
// the nearest other instance of a class that was written in Python. Without such an instance it begins at the nearest
// object that the collector knows.
func (p *paths) wayTo(last, begin int32) []int32 {
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
func (p *paths) isInstance(n int32) bool {
	t := p.typeOf(n)
	return p.isTracked(n) && t != nil && t.flags&cpython.FlagHeapType != 0 &&
		(t.shape == shapeWords || t.shape == shapeArray) && !t.native
}

// isTracked reports whether the collector knows the object of a node.
func (p *paths) isTracked(n int32) bool {
	id := p.nodes[n].id
	return id >= 0 && p.notes.noted[id].is(noteTracked)
}

// variableOf returns the name of a variable that has an object of a type, "" for none.
func (p *paths) variableOf(t *typ) string {
	l := p.lost
	if l.names == nil {
		l.names = map[*typ]string{}
		for n := range l.first {
			of, one := p.typeOf(n), &p.nodes[n]
			if way := p.labels[one.label]; one.parent < 0 && one.kind == kindVariable && way.kind == labelRoot {
				if _, known := l.names[of]; !known {
					l.names[of] = p.names[way.arg]
				}
			}
		}
	}
	return l.names[t]
}

// cutAt describes the last object of a way, or the last one before it that a path in Python leads to. It reports
// whether nothing else of the cycle leads on from there.
func (p *paths) cutAt(way []int32) (cut event.Cut, ok bool) {
	ok = true
	for i := 1; i < len(way); i++ {
		step, _ := p.step(way[i], labelBetween(p.walker, p.addrs[way[i-1]], p.addrs[way[i]]))
		if i == maxSteps || strings.ContainsAny(step, "<…(") || len(cut.Path)+len(step) > maxPath {
			ok = i > 1 && i < maxSteps && p.isBehindOne(way[i])
			way = way[:i]
			break
		}
		cut.Path += step
	}
	last := way[len(way)-1]
	if t := p.typeOf(last); t != nil {
		cut.Type = t.name
		cut.Fill = t.shape == shapeArray && ndarray{p.mem, p.addrs[last]}.objects() > 0
	}
	return cut, ok
}

// before calls yield with the objects of a node's cycle that refer to it, some of them more than once. It takes from
// what is left of references.
func (p *paths) before(n int32, left *int, yield func(n int32)) {
	l := p.lost
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
func (p *paths) isBehindOne(n int32) bool {
	left, one, is := maxReferred, int32(-1), true
	p.before(n, &left, func(from int32) {
		is = is && (one < 0 || one == from)
		one = from
	})
	return is && left >= 0
}
