package walk

import (
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// path puts the way from a node up to its root into words.
type path struct {
	*PathWriter
	begins int32    // where the way ends: a node that a frame holds as a local variable; -1 for the root
	steps  []string // the node's own comes first, the root's last
	output int      // n, if the root is Out[n]
}

// appendStep appends the step of a node. It returns the next node up the way, -1 for none.
func (y *path) appendStep(at int32) (up int32) {
	w := y.PathWriter
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
	if last := len(y.steps) - 1; begins && last >= 0 && label.Kind == LabelLocal {
		y.steps[last] = ".f_locals[" + objects.Quote(y.steps[last]) + "]"
		if parent >= 0 && w.IsShape(w.Addrs[parent], objects.ShapeGenerator) {
			y.steps[last] = ".gi_frame" + y.steps[last]
		}
	}
	if parent < 0 {
		y.output = w.outputOf(label, y.steps)
	}
	return parent
}

// write puts the way from a node into words, and leaves out the middle of a long way.
func (y *path) write(node int32) {
	most := maxNamed
	if y.climbs.worded > maxWorded {
		most = leastNamed
	}
	at := node
	for range most {
		if at = y.appendStep(at); at < 0 || len(y.steps) > 2*MaxPathSteps {
			break
		}
	}
	if at >= 0 {
		y.writeEnd(at, int32(most))
	}
	if len(y.steps) > 2*MaxPathSteps {
		y.cutMiddle(y.steps[len(y.steps)-MaxPathSteps+1:])
	}
}

// writeEnd puts the upper end of a way into words. If the rest of the way, from node at on, is long, it leaves out the
// middle: it takes the topmost nodes, doubling their number up to most until they have enough steps.
func (y *path) writeEnd(at, most int32) {
	c := &y.climbs
	c.noteClimbs(&y.Reached)
	begins := int32(0) // the depth at which the way ends
	if y.begins >= 0 {
		begins = c.nodes[y.begins].depth
	}
	for size := max(leastNamed, min(c.far.size, most)); ; size *= 2 {
		if c.nodes[at].depth < begins+size {
			y.writeRest(at)
			return
		}
		end := y.upperEnd(c.above(&y.Reached, at, begins+size-1), size)
		const shown = MaxPathSteps - 1
		if len(end.steps) >= shown || size >= most {
			y.output = end.output
			y.cutMiddle(end.steps[max(0, len(end.steps)-shown):])
			return
		}
	}
}

// writeRest puts all of the way into words, from a node on up.
func (y *path) writeRest(at int32) {
	for at >= 0 {
		at = y.appendStep(at)
	}
}

// upperEnd returns the upper end of the way, of size nodes, from a node on up. The last end is kept: many ways have the
// same.
func (y *path) upperEnd(from, size int32) pathEnd {
	c := &y.climbs
	if last := c.far; last.size > 0 && last.from == from && last.begins == y.begins {
		return last
	}
	upper := path{PathWriter: y.PathWriter, begins: y.begins}
	upper.writeRest(from)
	c.far = pathEnd{size, from, y.begins, upper.steps, upper.output}
	return c.far
}

// cutMiddle keeps the first MaxSteps steps, and puts those of the upper end behind them.
func (y *path) cutMiddle(upper []string) {
	y.steps = slices.Concat(y.steps[:min(len(y.steps), MaxPathSteps)], []string{"…"}, upper)
}

// Describe fills in the holder of a node: its path, and the facts about its root and its frame.
func (p *PathWriter) Describe(holder *event.Holder, node int32) {
	addr := p.Addrs[node]
	holder.Kind = Kinds[p.Nodes[node].Kind]
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
		begins = -1 // the path goes on above the frame
	}
	y := path{PathWriter: p, begins: begins}
	y.write(node)
	holder.Output = y.output
	slices.Reverse(y.steps)
	holder.Path = p.Join(submodules(y.steps), holder)
}

// Holders describes the holder of each block that a walk has looked for, in the order of the blocks.
func (p *PathWriter) Holders(f *Finder) []event.Holder {
	holders := make([]event.Holder, len(f.Blocks))
	cycles := newOutputCycles(p.Walker)
	for i, b := range f.Blocks {
		holder := &holders[i]
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
	return holders
}

// Unseen returns the holders of the arrays that are none of the blocks, each array once.
func (p *PathWriter) Unseen(f *Finder) (out []event.Holder) {
	known := map[uint64]bool{}
	for _, u := range f.Unseen {
		if known[u.Address] || f.Nodes[u.Node].Kind == KindNone {
			continue
		}
		known[u.Address] = true
		holder := event.Holder{Address: u.Address, Size: event.Bytes(u.Size)}
		p.Describe(&holder, u.Node)
		out = append(out, holder)
	}
	return out
}
