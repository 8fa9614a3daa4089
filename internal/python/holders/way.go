package holders

import (
	"slices"

	"ipytracer/event"
)

// way puts into words how a node is reached, from the node on up.
type way struct {
	*paths
	begins int32    // the node that it begins at, where that is a local variable of a frame; -1 for a root
	steps  []string // the last comes first
	output int      // of IPython's, that the root is
}

// far is the upper end of a way, as long as ways have the same.
type far struct {
	size         int32 // nodes, at most; 0 for none
	from, begins int32
	steps        []string
	output       int
}

// take puts a node into words. It returns the next one, -1 for none.
func (y *way) take(at int32) (up int32) {
	w := y.paths
	w.climbs.steps++
	w.climbs.worded++
	l, parent := w.labelOf(at), w.nodes[at].parent
	step, begins := w.step(at, l)
	if step != "" {
		y.steps = append(y.steps, step)
	}
	if at == y.begins {
		return -1
	}
	if i := len(y.steps) - 1; begins && i >= 0 && l.kind == labelLocal {
		y.steps[i] = ".f_locals[" + quote(y.steps[i]) + "]"
		if parent >= 0 && w.isShape(w.addrs[parent], shapeGenerator) {
			y.steps[i] = ".gi_frame" + y.steps[i]
		}
	}
	if parent < 0 {
		y.output = w.output(l, y.steps)
	}
	return parent
}

// tell puts a way into words; of a long one the middle is left out.
func (y *way) tell(n int32) {
	most := maxNamed
	if y.climbs.worded > maxWorded {
		most = leastNamed
	}
	at := n
	for range most {
		if at = y.take(at); at < 0 || len(y.steps) > 2*maxSteps {
			break
		}
	}
	if at >= 0 {
		y.skip(at, int32(most))
	}
	if len(y.steps) > 2*maxSteps {
		y.cut(y.steps[len(y.steps)-maxSteps+1:])
	}
}

// skip puts the upper end of a way into words: from a node on at the most, and as many nodes as have the steps that are
// shown.
func (y *way) skip(at, most int32) {
	c := &y.climbs
	c.note(&y.reach)
	begins := int32(0) // the depth that it begins at
	if y.begins >= 0 {
		begins = c.at[y.begins].depth
	}
	for size := max(leastNamed, min(c.far.size, most)); ; size *= 2 {
		if c.at[at].depth < begins+size {
			y.rest(at)
			return
		}
		end := y.end(c.above(&y.reach, at, begins+size-1), size)
		if shown := maxSteps - 1; len(end.steps) >= shown || size >= most {
			y.output = end.output
			y.cut(end.steps[max(0, len(end.steps)-shown):])
			return
		}
	}
}

// rest puts all of the way into words, from a node on.
func (y *way) rest(at int32) {
	for at >= 0 {
		at = y.take(at)
	}
}

// end is the upper end of the way, from a node on.
func (y *way) end(from, size int32) far {
	c := &y.climbs
	if f := c.far; f.size > 0 && f.from == from && f.begins == y.begins {
		return f
	}
	upper := way{paths: y.paths, begins: y.begins}
	upper.rest(from)
	c.far = far{size, from, y.begins, upper.steps, upper.output}
	return c.far
}

// cut leaves out the steps between those at the lower end that are shown and those at the upper end.
func (y *way) cut(upper []string) {
	y.steps = slices.Concat(y.steps[:min(len(y.steps), maxSteps)], []string{"…"}, upper)
}

// describe fills in how a node is reached.
func (p *paths) describe(h *event.Holder, n int32) {
	addr := p.addrs[n]
	h.Kind = kinds[p.nodes[n].kind]
	h.References = p.references(addr)
	h.Probable = p.nodes[n].probable
	h.Root = p.rootOf(n)
	root := p.rootNode(n)
	h.Running = p.cells[p.addrs[root]]
	if t := p.objectType(p.addrs[root]); t != nil && root != n {
		h.Class = t.shape == shapeType || t.name == lruCache
	}
	if t := p.objectType(addr); t != nil {
		h.Type = t.name
	}
	begins := p.climbs.frameOf(&p.reach, n, func(frame int32) bool {
		p.describeFrame(h, frame)
		return h.Function != ""
	})
	if h.Kind != event.HeldByTraceback && h.Kind != event.HeldByThread {
		begins = -1 // the way goes on from the frame
	}
	y := way{paths: p, begins: begins}
	y.tell(n)
	h.Output = y.output
	slices.Reverse(y.steps)
	h.Path = p.join(submodules(y.steps), h)
}
