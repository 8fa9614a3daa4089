package attribution

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/report"
	"ipytracer/tracer/event"
)

// maxListed is how many groups of blocks that are left are listed, the most bytes first.
const maxListed = 1000

// maxLines is how many lines a report has, the most at the peak first.
const maxLines = 3000

// lines adds up, for each line of code in a session, of the attached processes and of the Pythons that they start, what was allocated in it and in what it called.
func (t *Tracker) lines() []report.Line {
	var out []report.Line
	for _, w := range t.windows {
		if w.kind != kindSession && w.kind != kindLife {
			continue
		}
		for m, all := range w.tallies {
			of := map[uint32]*report.Line{}
			for _, y := range all.byStack {
				if s := t.allocations.stacks.of(y.stack); s != nil {
					t.addLines(of, w, y, s)
				}
			}
			out = append(out, t.oneRun(w, m, of)...)
		}
	}
	slices.SortFunc(out, func(x, y report.Line) int {
		return cmp.Or(cmp.Compare(y.AtPeak, x.AtPeak), cmp.Compare(y.Allocated, x.Allocated), cmp.Compare(x.Meter, y.Meter), cmp.Compare(x.PID, y.PID),
			compareFrames(x.Frame, y.Frame))
	})
	return slices.Clip(out[:min(len(out), maxLines)])
}

// addLines adds what one stack did to each of its lines; a line that calls itself counts once.
func (t *Tracker) addLines(of map[uint32]*report.Line, w *window, y *tally, s *stack) {
	frames := s.frames[:t.within(w, s)]
	for i, at := range frames {
		if slices.Contains(frames[:i], at) {
			continue
		}
		one := of[at]
		if one == nil {
			one = &report.Line{PID: int(w.process.info.PID)}
			of[at] = one
		}
		one.Allocated += int64(y.allocated)
		one.Freed += int64(y.freed)
		one.Net += int64(y.allocated - y.freed)
		one.AtPeak += int64(y.atPeak)
		one.Count += y.count
		one.Left += int64(w.left(y))
		if i == 0 {
			one.OwnAllocated += int64(y.allocated)
			one.OwnAtPeak += int64(y.atPeak)
		}
	}
}

// left is what a stack had when the process's last cell was over: what it frees as it ends is not asked for. Without a cell, or while
// one runs, it is what the stack has in the end.
func (w *window) left(y *tally) event.Bytes {
	if p := w.process; p.ranCells > 0 && len(p.open) == 0 && y.cells == p.ranCells {
		return max(0, y.held-y.since)
	}
	return max(0, y.held)
}

// oneRun turns what lines did into lines of a report. A line of a cell's code that has a name for each run is that of the latest.
func (t *Tracker) oneRun(w *window, m event.Meter, of map[uint32]*report.Line) (out []report.Line) {
	known := map[report.Frame]int{}
	for _, at := range slices.Sorted(maps.Keys(of)) {
		one := of[at]
		one.Meter, one.Frame = m.String(), t.frame(w, w.process.info.PID, at)
		key := report.Frame{Function: one.Function, File: anyRun(one.File), Line: one.Frame.Line, Native: one.Native, Module: one.Module}
		i, again := known[key]
		if !again {
			known[key] = len(out)
			out = append(out, *one)
			continue
		}
		if sum := &out[i]; one.Execution > sum.Execution {
			sum.Frame = one.Frame
		}
		addLine(&out[i], one)
	}
	return out
}

func addLine(sum, one *report.Line) {
	sum.Allocated += one.Allocated
	sum.Freed += one.Freed
	sum.Net += one.Net
	sum.AtPeak += one.AtPeak
	sum.OwnAllocated += one.OwnAllocated
	sum.OwnAtPeak += one.OwnAtPeak
	sum.Count += one.Count
	sum.Left += one.Left
}

// tensors groups PyTorch's blocks that live at the end of a session by who made them and by their size.
func (t *Tracker) tensors() []report.Tensors {
	type key struct {
		pid   int32
		meter event.Meter
		stack uint64
		size  event.Bytes
	}
	type sum struct{ count, asked, known int64 }
	sums := map[key]sum{}
	for at, b := range t.allocations.blocks {
		if !isActive(at.meter) {
			continue
		}
		k := key{at.pid, at.meter, b.stack, b.size}
		s := sums[k]
		s.count++
		if asked, ok := t.allocations.asked[askedKey{at.pid, at.address}]; ok {
			s.asked += int64(asked)
			s.known++
		}
		sums[k] = s
	}
	merged := map[string]*report.Tensors{}
	for k, s := range sums {
		p := t.process(k.pid, 0)
		var frames []report.Frame
		if stack := t.allocations.stacks.of(k.stack); stack != nil && t.sessionOf(p) != nil {
			frames = t.frames(t.sessionOf(p), stack)
		}
		id := frameKey(append([]report.Frame{{Function: k.meter.String(), Line: int(k.pid)}, {Line: int(k.size)}}, frames...))
		one := merged[id]
		if one == nil {
			one = &report.Tensors{PID: int(k.pid), Meter: k.meter.String(), Size: int64(k.size), Stack: append([]report.Frame{}, frames...)}
			merged[id] = one
		}
		one.Count += s.count
		one.Bytes += s.count * int64(k.size)
		one.Rounding += s.known*int64(k.size) - s.asked
		one.Unknown += s.count - s.known
	}
	var out []report.Tensors
	for _, one := range merged {
		out = append(out, *one)
	}
	slices.SortFunc(out, func(x, y report.Tensors) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(y.Size, x.Size), cmp.Compare(x.Meter, y.Meter), cmp.Compare(x.PID, y.PID),
			slices.CompareFunc(x.Stack, y.Stack, compareFrames))
	})
	return slices.Clip(out[:min(len(out), maxListed)])
}
