package paths

import (
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// path puts into words how a node is reached, from the node on up.
type path struct {
	*Writer
	begins int32    // the node that it begins at, where that is a local variable of a frame; -1 for a root
	steps  []string // the last comes first
	output int      // of IPython's, that the root is
}

// pathEnd is the upper end of a way, as long as ways have the same.
type pathEnd struct {
	size         int32 // nodes, at most; 0 for none
	from, begins int32
	steps        []string
	output       int
}

// take puts a node into words. It returns the next one, -1 for none.
func (y *path) take(at int32) (up int32) {
	w := y.Writer
	w.Climbs.Steps++
	w.Climbs.Worded++
	l, parent := w.LabelOf(at), w.Nodes[at].Parent
	step, begins := w.Step(at, l)
	if step != "" {
		y.steps = append(y.steps, step)
	}
	if at == y.begins {
		return -1
	}
	if i := len(y.steps) - 1; begins && i >= 0 && l.Kind == walk.LabelLocal {
		y.steps[i] = ".f_locals[" + objects.Quote(y.steps[i]) + "]"
		if parent >= 0 && w.IsShape(w.Addrs[parent], objects.ShapeGenerator) {
			y.steps[i] = ".gi_frame" + y.steps[i]
		}
	}
	if parent < 0 {
		y.output = w.Output(l, y.steps)
	}
	return parent
}

// tell puts a way into words; of a long one the middle is left out.
func (y *path) tell(n int32) {
	most := MaxNamed
	if y.Climbs.Worded > MaxWorded {
		most = LeastNamed
	}
	at := n
	for range most {
		if at = y.take(at); at < 0 || len(y.steps) > 2*MaxSteps {
			break
		}
	}
	if at >= 0 {
		y.skip(at, int32(most))
	}
	if len(y.steps) > 2*MaxSteps {
		y.cut(y.steps[len(y.steps)-MaxSteps+1:])
	}
}

// skip puts the upper end of a way into words: from a node on at the most, and as many nodes as have the steps that are
// shown.
func (y *path) skip(at, most int32) {
	c := &y.Climbs
	c.note(&y.Reached)
	begins := int32(0) // the depth that it begins at
	if y.begins >= 0 {
		begins = c.At[y.begins].depth
	}
	for size := max(LeastNamed, min(c.far.size, most)); ; size *= 2 {
		if c.At[at].depth < begins+size {
			y.rest(at)
			return
		}
		end := y.end(c.above(&y.Reached, at, begins+size-1), size)
		if shown := MaxSteps - 1; len(end.steps) >= shown || size >= most {
			y.output = end.output
			y.cut(end.steps[max(0, len(end.steps)-shown):])
			return
		}
	}
}

// rest puts all of the way into words, from a node on.
func (y *path) rest(at int32) {
	for at >= 0 {
		at = y.take(at)
	}
}

// end is the upper end of the way, from a node on.
func (y *path) end(from, size int32) pathEnd {
	c := &y.Climbs
	if f := c.far; f.size > 0 && f.from == from && f.begins == y.begins {
		return f
	}
	upper := path{Writer: y.Writer, begins: y.begins}
	upper.rest(from)
	c.far = pathEnd{size, from, y.begins, upper.steps, upper.output}
	return c.far
}

// cut leaves out the steps between those at the lower end that are shown and those at the upper end.
func (y *path) cut(upper []string) {
	y.steps = slices.Concat(y.steps[:min(len(y.steps), MaxSteps)], []string{"…"}, upper)
}

// Describe fills in how a node is reached.
func (p *Writer) Describe(h *event.Holder, n int32) {
	addr := p.Addrs[n]
	h.Kind = walk.Kinds[p.Nodes[n].Kind]
	h.References = p.References(addr)
	h.Probable = p.Nodes[n].Probable
	h.Root = p.rootOf(n)
	root := p.RootNode(n)
	h.Running = p.CellFrames[p.Addrs[root]]
	if t := p.ObjectType(p.Addrs[root]); t != nil && root != n {
		h.Class = t.Shape == objects.ShapeType || t.Name == objects.LruCache
	}
	if t := p.ObjectType(addr); t != nil {
		h.Type = t.Name
	}
	begins := p.Climbs.frameOf(&p.Reached, n, func(frame int32) bool {
		p.DescribeFrame(h, frame)
		return h.Function != ""
	})
	if h.Kind != event.HeldByTraceback && h.Kind != event.HeldByThread {
		begins = -1 // the way goes on from the frame
	}
	y := path{Writer: p, begins: begins}
	y.tell(n)
	h.Output = y.output
	slices.Reverse(y.steps)
	h.Path = p.Join(Submodules(y.steps), h)
}
