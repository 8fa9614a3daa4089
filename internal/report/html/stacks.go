package html

import (
	"cmp"
	"maps"
	"path"
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Kinds of frames.
const (
	frameCell = iota
	frameOwn
	frameLibrary
	frameNative
	_             // several in one
	frameNotKnown // unknown callers
)

// calls makes the tree of calls that the stacks of a page share.
type calls struct {
	b      *builder
	nodeAt map[[2]int]int // by parent and frame
	counts map[countKey]int
}

// countKey is a frame with its In[N], which model.Frame has as a pointer.
type countKey struct {
	model.Frame
	count int
}

func newCalls(b *builder) *calls {
	c := &calls{b: b, nodeAt: map[[2]int]int{}, counts: map[countKey]int{}}
	none := ints{}
	b.page.Frames = frames{Function: none, File: none, Line: none, Execution: none, Count: none, Kind: none}
	b.page.Nodes = nodes{Parent: ints{0}, Frame: ints{-1}}
	return c
}

// frame returns the place of a call.
func (c *calls) frame(f model.Frame) int {
	count := -1
	if f.ExecutionCount != nil {
		count = *f.ExecutionCount
	}
	f.ExecutionCount = nil
	key := countKey{f, count}
	if at, known := c.counts[key]; known {
		return at
	}
	kind, file := frameOwn, f.File
	switch {
	case f.Native:
		kind, file = frameNative, f.Module
	case f.IsNowhere():
		kind = frameNotKnown
	case count >= 0 || f.Execution > 0:
		kind, file = frameCell, path.Base(f.File)
	case model.IsLibrary(f.File):
		kind = frameLibrary
	}
	t, all := c.b.texts, &c.b.page.Frames
	at := len(all.Kind)
	c.counts[key] = at
	all.Function, all.File = append(all.Function, t.name(f.Function)), append(all.File, t.name(file))
	all.Line, all.Execution = append(all.Line, f.Line), append(all.Execution, f.Execution)
	all.Count, all.Kind = append(all.Count, count), append(all.Kind, kind)
	if f.Kernel != "" || len(all.Kernel) > 0 {
		for len(all.Kernel) < at { // calls outside of cells
			all.Kernel = append(all.Kernel, 0)
		}
		all.Kernel = append(all.Kernel, t.name(f.Kernel))
	}
	return at
}

// node returns the place of a stack, innermost call first.
func (c *calls) node(stack []model.Frame) int {
	at := 0
	for i := len(stack) - 1; i >= 0; i-- {
		key := [2]int{at, c.frame(stack[i])}
		next, known := c.nodeAt[key]
		if !known {
			next = len(c.b.page.Nodes.Parent)
			c.nodeAt[key] = next
			c.b.page.Nodes.Parent = append(c.b.page.Nodes.Parent, at)
			c.b.page.Nodes.Frame = append(c.b.page.Nodes.Frame, key[1])
		}
		at = next
	}
	return at
}

// detail adds the allocations of a window.
func (b *builder) detail(row int, w *model.Window) {
	if b.r.Detail != nil {
		b.r.Detail(w)
	}
	of := map[string][]model.Allocation{}
	for _, a := range w.Allocations {
		of[a.Meter] = append(of[a.Meter], a)
	}
	ids := slices.Collect(maps.Keys(of))
	for id := range w.Coverage {
		if of[id] == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		meter, known := b.meters[id]
		if !known {
			continue
		}
		cover := w.Coverage[id]
		d := detail{
			Row: row, Meter: meter, Stacks: longs{}, AtPeak: cover.AtPeak, Rest: cover.Rest, Unlisted: cover.Unlisted,
			UnlistedAtPeak: cover.UnlistedAtPeak, Exact: cover.Exact,
		}
		if cover.Sampled > 0 {
			d.Sampled = words.SampledLines(cover.Sampled)
		}
		all := of[id]
		slices.SortStableFunc(all, func(x, y model.Allocation) int {
			return cmp.Or(cmp.Compare(y.AtPeak, x.AtPeak), cmp.Compare(y.Allocated, x.Allocated))
		})
		room := min(len(all), mostStacksEach, max(1, b.choice.each/len(ids)))
		for _, a := range all[:room] {
			d.Stacks = append(d.Stacks, int64(b.calls.node(a.Stack)), a.AtPeak, a.Allocated, a.Freed, a.Count)
		}
		for _, a := range all[room:] {
			d.More++
			d.MoreAtPeak += a.AtPeak
		}
		b.page.Meters[meter].Blocks = true
		b.page.Details = append(b.page.Details, d)
	}
}
