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

// take puts a node into words. It returns the next one, -1 for none.
func (y *path) take(at int32) (up int32) {
	w := y.Writer
	w.climbs.steps++
	w.climbs.worded++
	label, parent := w.LabelOf(at), w.Nodes[at].Parent
	step, begins := w.Step(at, label)
	if step != "" {
		y.steps = append(y.steps, step)
	}
	if at == y.begins {
		return -1
	}
	if i := len(y.steps) - 1; begins && i >= 0 && label.Kind == walk.LabelLocal {
		y.steps[i] = ".f_locals[" + objects.Quote(y.steps[i]) + "]"
		if parent >= 0 && w.IsShape(w.Addrs[parent], objects.ShapeGenerator) {
			y.steps[i] = ".gi_frame" + y.steps[i]
		}
	}
	if parent < 0 {
		y.output = w.outputOf(label, y.steps)
	}
	return parent
}

// tell puts a way into words; of a long one the middle is left out.
func (y *path) tell(node int32) {
	most := maxNamed
	if y.climbs.worded > maxWorded {
		most = leastNamed
	}
	at := node
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
	c := &y.climbs
	c.note(&y.Reached)
	begins := int32(0) // the depth that it begins at
	if y.begins >= 0 {
		begins = c.nodes[y.begins].depth
	}
	for size := max(leastNamed, min(c.far.size, most)); ; size *= 2 {
		if c.nodes[at].depth < begins+size {
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

// end returns the upper end of the way, from a node on.
func (y *path) end(from, size int32) pathEnd {
	c := &y.climbs
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
func (p *Writer) Describe(holder *event.Holder, node int32) {
	addr := p.Addrs[node]
	holder.Kind = walk.Kinds[p.Nodes[node].Kind]
	holder.References = p.References(addr)
	holder.Probable = p.Nodes[node].Probable
	holder.Root = p.rootOf(node)
	root := p.RootNode(node)
	holder.Running = p.CellFrames[p.Addrs[root]]
	if typ := p.ObjectType(p.Addrs[root]); typ != nil && root != node {
		holder.Class = typ.Shape == objects.ShapeType || typ.Name == objects.LruCache
	}
	if typ := p.ObjectType(addr); typ != nil {
		holder.Type = typ.Name
	}
	begins := p.climbs.frameOf(&p.Reached, node, func(frame int32) bool {
		p.describeFrame(holder, frame)
		return holder.Function != ""
	})
	if holder.Kind != event.HeldByTraceback && holder.Kind != event.HeldByThread {
		begins = -1 // the way goes on from the frame
	}
	y := path{Writer: p, begins: begins}
	y.tell(node)
	holder.Output = y.output
	slices.Reverse(y.steps)
	holder.Path = p.Join(submodules(y.steps), holder)
}

// Holders describes the holder of each block that a walk has looked for.
func (p *Writer) Holders(f *walk.Finder) []event.Holder {
	all := make([]event.Holder, len(f.Blocks))
	cycles := newOutputCycles(p.Walker)
	for i, b := range f.Blocks {
		holder := &all[i]
		holder.Address, holder.Kind, holder.Asked = b.Address, event.HeldByNone, event.Bytes(f.Asked[i])
		node, probable := f.Found[i], false
		if node < 0 {
			node, probable = f.Maybe[i], true
		}
		if node < 0 {
			continue
		}
		p.Describe(holder, node)
		holder.Probable = holder.Probable || probable
		holder.Garbage, holder.Lost = garbageOf(p, node), p.lostOf(node)
		holder.Cyclic = !probable && cycles.holds(node)
	}
	return all
}

// Unseen returns the holders of the arrays that a walk has not looked for, each once.
func (p *Writer) Unseen(f *walk.Finder) (out []event.Holder) {
	known := map[uint64]bool{}
	for _, u := range f.Unseen {
		if known[u.Address] || f.Nodes[u.Node].Kind == walk.KindNone {
			continue
		}
		known[u.Address] = true
		holder := event.Holder{Address: u.Address, Size: event.Bytes(u.Size)}
		p.Describe(&holder, u.Node)
		out = append(out, holder)
	}
	return out
}
