package html

import (
	"path"
	"slices"

	"ipytracer/model"
)

// Kinds of frames.
const (
	frameCell = iota
	frameOwn
	frameLibrary
	frameNative
	_             // the page's own kind, for several frames in one
	frameNotKnown // unknown callers
)

// calls makes the tree of calls that the stacks of a page share.
type calls struct {
	texts   *texts
	page    *page
	nodeAt  map[[2]int]int   // places of nodes, by parent and frame
	frameAt map[frameKey]int // places of frames
}

// frameKey is a frame that can be compared: its In[N] is count, because model.Frame has that as a pointer.
type frameKey struct {
	model.Frame
	count int
}

func newCalls(texts *texts, to *page) *calls {
	c := &calls{texts: texts, page: to, nodeAt: map[[2]int]int{}, frameAt: map[frameKey]int{}}
	none := ints{}
	to.Frames = frames{Function: none, File: none, Line: none, Execution: none, Count: none, Kind: none}
	to.Nodes = nodes{Parent: ints{0}, Frame: ints{-1}}
	return c
}

// frame returns the place of a call among the frames. It adds the call if the page does not have it.
func (c *calls) frame(f model.Frame) int {
	count := -1
	if f.ExecutionCount != nil {
		count = *f.ExecutionCount
	}
	f.ExecutionCount = nil
	key := frameKey{f, count}
	if at, known := c.frameAt[key]; known {
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
	t, all := c.texts, &c.page.Frames
	at := len(all.Kind)
	c.frameAt[key] = at
	all.Function, all.File = append(all.Function, t.name(f.Function)), append(all.File, t.name(file))
	all.Line, all.Execution = append(all.Line, f.Line), append(all.Execution, f.Execution)
	all.Count, all.Kind = append(all.Count, count), append(all.Kind, kind)
	if f.Kernel != "" || len(all.Kernel) > 0 {
		for len(all.Kernel) < at { // earlier calls, which are in no cell
			all.Kernel = append(all.Kernel, 0)
		}
		all.Kernel = append(all.Kernel, t.name(f.Kernel))
	}
	return at
}

// node returns the place of a stack in the tree: the node of its innermost call, which is the first of stack.
func (c *calls) node(stack []model.Frame) int {
	at := 0
	for _, f := range slices.Backward(stack) {
		key := [2]int{at, c.frame(f)}
		next, known := c.nodeAt[key]
		if !known {
			next = len(c.page.Nodes.Parent)
			c.nodeAt[key] = next
			c.page.Nodes.Parent = append(c.page.Nodes.Parent, at)
			c.page.Nodes.Frame = append(c.page.Nodes.Frame, key[1])
		}
		at = next
	}
	return at
}
