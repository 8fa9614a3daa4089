package rows

import (
	"slices"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/model"
)

// symbolizer makes frames of stacks, seen from a window.
type symbolizer struct {
	*windows.State
	shown shown
}

// shown caches the stacks that a report has shown a short while ago: consecutive windows list the same stacks.
type shown struct {
	recent [recentlyShown]shownStack
	cells  []inCell // the result of CellsIn
}

// shownStack is a stack as a report shows it if the stack's calls are in certain cells.
type shownStack struct {
	first  uint32 // Stack.First, which identifies the stack
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
	maxShown      = 1 << 7 // the most calls of a stack that is kept
)

// Frames returns a stack as a report shows it: without the calls outside of the cell. The caller must not change the
// result.
func (sy *symbolizer) Frames(w *windows.Window, s *stacks.Stack) []model.Frame {
	if s == nil || s.Count == 0 {
		return []model.Frame{}
	}
	cells := sy.CellsIn(w, s)
	if s.Count > maxShown {
		return sy.framesIn(s, cells)
	}
	recent := &sy.shown.recent[s.First%recentlyShown]
	if recent.frames == nil || recent.first != s.First || !slices.Equal(recent.cells, cells) {
		*recent = shownStack{s.First, append(recent.cells[:0], cells...), sy.framesIn(s, cells)}
	}
	return recent.frames
}

// CellsIn returns the cells in which the calls of a stack lie, up to the outermost call that lies in a cell. If no call
// does, it returns an item for each call. The next call of CellsIn overwrites the result.
func (sy *symbolizer) CellsIn(w *windows.Window, s *stacks.Stack) []inCell {
	cells := sy.shown.cells[:0]
	inCells := 0
	for i, call := range sy.Stacks.CallsOf(s) {
		cell := sy.CellIn(w, s.PID, call)
		if cell.isIn {
			inCells = i + 1
		}
		cells = append(cells, cell)
	}
	sy.shown.cells = cells
	if inCells > 0 {
		return cells[:inCells]
	}
	return cells
}

// CellIn returns the cell that a call lies in, seen from a window.
func (sy *symbolizer) CellIn(w *windows.Window, pid int32, call uint32) inCell {
	f := &sy.Stacks.Frames[call]
	if f.Native {
		return inCell{}
	}
	cell := sy.Files.CellOf(w, pid, f.File)
	switch {
	case cell != nil:
		return inCell{cell.Execution, cell.Count, cell.Lines, cell.Process.Kernel(), true}
	case f.Input > 0: // the cell ran before the session
		return inCell{0, int(f.Input), 0, windows.KernelAbove(sy.Processes.ByPID, pid), true}
	}
	return inCell{}
}

// framesIn returns the calls of a stack that lie in cells.
func (sy *symbolizer) framesIn(s *stacks.Stack, cells []inCell) []model.Frame {
	out := make([]model.Frame, len(cells))
	calls := sy.Stacks.CallsOf(s)
	for i := range out {
		out[i] = sy.Frame(calls[i], cells[i])
	}
	return out
}

// Frame returns a call as a report shows it.
func (sy *symbolizer) Frame(call uint32, in inCell) model.Frame {
	f := sy.Stacks.Frame(call)
	out := model.Frame{Function: f.Function, File: f.File, Line: int(f.Line), Native: f.Native, Module: f.Module}
	if in.isIn {
		out.Execution, out.Kernel = in.execution, in.kernel
		if in.lines > 0 && out.Line > in.lines { // the line belongs to other code
			out.Line = 0
		}
		if in.count >= 0 {
			count := in.count
			out.ExecutionCount = &count
		}
	}
	return out
}

// Forget drops the stacks that it remembers.
func (sy *symbolizer) Forget() { sy.shown = shown{} }
