package windows

import (
	"math"

	"ipytracer/event"
	"ipytracer/model"
)

// SeeContainer takes in the memory of a process's container at a boundary. It reports whether the process has come from
// another container.
func (p *Process) SeeContainer(b *event.Boundary, cut uint64, r *Tree) (moved bool) {
	c, now := &p.container, containerAt(b)
	if now.Number == 0 {
		return false
	}
	switch before := c.last; {
	case before.Number == 0:
	case before.Number != now.Number:
		moved, c.moved, c.usage, now.Seen = true, cut, nil, 0
	case b.Segment < c.segment: // two CPUs' boundaries passed each other
		c.usage.Push(cut, now.Usage)
		return false
	case now.Highest < before.Highest:
		c.reset = cut
	}
	if !moved {
		now.Seen = max(now.Seen, within(&c.last, &now))
	}
	c.last, c.segment = now, b.Segment
	if c.usage.Push(cut, max(now.Usage, now.Seen)); len(c.usage) > Crowded+2*len(r.Open) {
		c.usage.Thin(r.Cuts())
	}
	return moved
}

// within returns a use that a container certainly had between two boundaries: its highest since somebody wrote to
// memory.peak, if that was later than the first boundary or the highest has risen since. It returns 0 if none is known.
func within(first, last *event.Container) event.Bytes {
	wrote := last.Resets != first.Resets
	if first.Number == last.Number && min(first.Resets, last.Resets) > 0 && (wrote || last.Local > first.Local) {
		return last.Local
	}
	return 0
}

// containerAt returns the memory of a container at a boundary, with sizes within bounds, whatever a recording says.
func containerAt(b *event.Boundary) event.Container {
	c := b.Container
	p := &c.Parts
	for _, size := range []*event.Bytes{
		&c.Usage, &c.Highest, &c.Limit, &c.Seen, &c.Local, &p.Anon, &p.File, &p.Shmem, &p.Kernel,
	} {
		*size = min(max(*size, 0), math.MaxInt64/4)
	}
	return c
}

// ContainerIn returns the memory of the process's container in a window that closes at a boundary; nil if it is not
// known. A window that is open ends at the process's last boundary: closes is nil.
func (p *Process) ContainerIn(w *Window, closes *event.Boundary) *model.Container {
	c := &p.container
	first, last := w.Opening, c.last
	if closes != nil {
		last = containerAt(closes)
	}
	if first.Number == 0 || last.Number != first.Number || c.moved > w.Since {
		return nil
	}
	least := max(first.Usage, last.Usage)
	if most, ok := c.usage.Since(w.Since); ok {
		least = max(least, most)
	}
	out := &model.Container{Start: int64(first.Usage), End: int64(last.Usage), Limit: int64(last.Limit)}
	switch {
	case c.reset > w.Since: // the highest value before that is not known
		out.AtLeast = int64(max(least, last.Highest))
	case last.Highest > first.Highest: // the container never had as much before
		out.AtLeast = int64(max(least, last.Highest))
		out.Highest = out.AtLeast
	case first.Resets != 0 && first.Resets == last.Resets: // nobody wrote to memory.peak in between
		least = max(least, within(&first, &last))
		out.AtLeast, out.Highest = int64(least), int64(max(least, last.Local))
	default:
		out.AtLeast, out.Highest = int64(least), int64(max(least, last.Highest))
	}
	out.Exact = out.AtLeast == out.Highest
	if parts := last.Parts; parts.Known {
		out.Parts = &model.ContainerParts{Anon: int64(parts.Anon), File: int64(parts.File), Shmem: int64(parts.Shmem),
			Kernel: int64(parts.Kernel)}
	}
	return out
}

// ContainerNow returns the memory of the process's container at its last boundary. Its Number is 0 if that is not
// known.
func (p *Process) ContainerNow() event.Container { return p.container.last }

// OpenIn records the memory of the container when a window opens.
func (w *Window) OpenIn(b *event.Boundary) { w.Opening = containerAt(b) }

// container codes the memory of a window's container. It is called only where that is known.
func (c *coder) container(d *Detail) {
	if c.reads {
		d.Container = &model.Container{}
	}
	in := d.Container
	code(c, &in.AtLeast, &in.Start, &in.End, &in.Limit)
	codeDelta(c, &in.Highest, in.AtLeast)
	hasParts := in.Parts != nil
	c.flags(&in.Exact, &hasParts)
	if !hasParts {
		return
	}
	if c.reads {
		in.Parts = &model.ContainerParts{}
	}
	code(c, &in.Parts.Anon, &in.Parts.File, &in.Parts.Shmem, &in.Parts.Kernel)
}
