package attribution

import (
	"slices"

	"ipytracer/model"
)

// symbolizer makes frames of stacks, seen from a window.
type symbolizer struct {
	processes *processes
	stacks    *stackTable
	files     *cellFiles
	shown     shown
}

// shown are stacks that a report has shown a short while ago: windows that follow each other list the same ones, and
// share them.
type shown struct {
	recent [recentlyShown]shownStack
	cells  []inCell // of the stack that is looked up
}

// shownStack is a stack as it is shown where its calls are in some cells.
type shownStack struct {
	first  uint32 // of its calls in the table, which no other has
	cells  []inCell
	frames []model.Frame
}

// inCell is the cell that a call lies in.
type inCell struct {
	execution, count, lines int
	kernel                  string
	isIn                    bool
}

const (
	recentlyShown = 1 << 9 // a power of two
	maxShown      = 1 << 7 // calls of one that is kept
)

// frames returns a stack as a report shows it: without the calls outside of the cell. The result must not be changed.
func (sy *symbolizer) frames(w *window, s *stack) []model.Frame {
	if s == nil || s.count == 0 {
		return []model.Frame{}
	}
	cells := sy.cellsIn(w, s)
	if s.count > maxShown {
		return sy.framesIn(s, cells)
	}
	one := &sy.shown.recent[s.first%recentlyShown]
	if one.frames == nil || one.first != s.first || !slices.Equal(one.cells, cells) {
		*one = shownStack{s.first, append(one.cells[:0], cells...), sy.framesIn(s, cells)}
	}
	return one.frames
}

// cellsIn returns the cells that the calls of a stack lie in, up to the outermost call that lies in one; of all calls
// if none does. The next call overwrites the result.
func (sy *symbolizer) cellsIn(w *window, s *stack) []inCell {
	cells := sy.shown.cells[:0]
	within := 0
	for i, call := range sy.stacks.callsOf(s) {
		one := sy.cellIn(w, s.pid, call)
		if one.isIn {
			within = i + 1
		}
		cells = append(cells, one)
	}
	sy.shown.cells = cells
	if within > 0 {
		return cells[:within]
	}
	return cells
}

// cellIn returns the cell that a call lies in, seen from a window.
func (sy *symbolizer) cellIn(w *window, pid int32, call uint32) inCell {
	f := &sy.stacks.frames[call]
	if f.native {
		return inCell{}
	}
	cell := sy.files.cellOf(w, pid, f.file)
	switch {
	case cell != nil:
		return inCell{cell.execution, cell.count, cell.lines, cell.process.kernel(), true}
	case f.input > 0: // it ran before the session
		return inCell{0, int(f.input), 0, kernelAbove(sy.processes.byPID, pid), true}
	}
	return inCell{}
}

// framesIn returns the calls of a stack that lie in cells.
func (sy *symbolizer) framesIn(s *stack, cells []inCell) []model.Frame {
	out := make([]model.Frame, len(cells))
	calls := sy.stacks.callsOf(s)
	for i := range out {
		out[i] = sy.frame(calls[i], cells[i])
	}
	return out
}

// frame returns a call as a report shows it.
func (sy *symbolizer) frame(at uint32, in inCell) model.Frame {
	f := sy.stacks.frame(at)
	out := model.Frame{Function: f.Function, File: f.File, Line: int(f.Line), Native: f.Native, Module: f.Module}
	if in.isIn {
		out.Execution, out.Kernel = in.execution, in.kernel
		if in.lines > 0 && out.Line > in.lines { // of something else
			out.Line = 0
		}
		if in.count >= 0 {
			count := in.count
			out.ExecutionCount = &count
		}
	}
	return out
}
