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

// lineSum is what one line did of one meter in a session.
type lineSum struct {
	w                                                       *window
	meter                                                   event.Meter
	call                                                    uint32 // of the stack table
	allocated, freed, atPeak, ownAllocated, ownAtPeak, left event.Bytes
	count                                                   int64
	others                                                  []uint32 // the same line in other runs of its cell
}

// lines adds up, for each line of code in a session, of the attached processes and of the Pythons that they start, what was allocated in it and in what it called.
func (t *Tracker) lines() []report.Line {
	var sums []lineSum
	for _, w := range t.staying {
		if w.kind != kindSession && w.kind != kindLife {
			continue
		}
		for m, all := range w.tallies {
			t.copyInto(all, heldKey{w.process.info.PID, m})
			sums = append(sums, t.sumLines(w, m, all)...)
		}
	}
	slices.SortFunc(sums, func(x, y lineSum) int {
		return cmp.Or(cmp.Compare(y.atPeak, x.atPeak), cmp.Compare(y.allocated, x.allocated))
	})
	n := min(len(sums), maxLines)
	for n > 0 && n < len(sums) && sums[n].atPeak == sums[n-1].atPeak && sums[n].allocated == sums[n-1].allocated {
		n++
	}
	out := make([]report.Line, n)
	for i := range out {
		out[i] = t.line(&sums[i])
	}
	slices.SortFunc(out, func(x, y report.Line) int {
		return cmp.Or(cmp.Compare(y.AtPeak, x.AtPeak), cmp.Compare(y.Allocated, x.Allocated), cmp.Compare(x.Meter, y.Meter), cmp.Compare(x.PID, y.PID),
			compareFrames(x.Frame, y.Frame))
	})
	if len(out) == 0 {
		return nil
	}
	return slices.Clone(out[:min(n, maxLines)])
}

// sumLines adds up what the stacks of a meter did, by their lines. A line of a cell's code that has a name for each run is one line.
func (t *Tracker) sumLines(w *window, m event.Meter, all *tallies) (sums []lineSum) {
	table := &t.allocations.stacks
	of := make([]int32, len(table.frames)) // where a call is in sums, from 1
	runs := map[event.Frame]int32{}
	for _, stack := range slices.Sorted(maps.Keys(all.byStack)) {
		y, s := all.byStack[stack], table.of(stack)
		if s == nil || y.isNothing() {
			continue
		}
		calls := table.callsOf(s)[:t.within(w, s)]
		for i, call := range calls {
			if slices.Contains(calls[:i], call) { // a line that calls itself counts once
				continue
			}
			if of[call] == 0 {
				of[call] = t.sumOf(call, &sums, runs)
			}
			one := &sums[of[call]-1]
			one.w, one.meter = w, m
			one.add(y, w.left(y), i == 0)
		}
	}
	return sums
}

// sumOf begins the sum of a line, or finds that of another run of the same.
func (t *Tracker) sumOf(call uint32, sums *[]lineSum, runs map[event.Frame]int32) int32 {
	f := t.allocations.stacks.frame(call)
	run := anyRun(f.File)
	if run == f.File {
		*sums = append(*sums, lineSum{call: call})
		return int32(len(*sums))
	}
	f.File = run
	if at := runs[f]; at > 0 {
		one := &(*sums)[at-1]
		one.others = append(one.others, call)
		return at
	}
	*sums = append(*sums, lineSum{call: call})
	runs[f] = int32(len(*sums))
	return runs[f]
}

func (l *lineSum) add(y *tally, left event.Bytes, own bool) {
	l.allocated += y.allocated
	l.freed += y.freed
	l.atPeak += y.atPeak
	l.count += y.count
	l.left += left
	if own {
		l.ownAllocated += y.allocated
		l.ownAtPeak += y.atPeak
	}
}

// line is a line of a report. Of several runs of a cell it is that of the latest.
func (t *Tracker) line(l *lineSum) report.Line {
	out := report.Line{
		PID: int(l.w.process.info.PID), Meter: l.meter.String(), Frame: t.frame(l.w, l.w.process.info.PID, l.call),
		Allocated: int64(l.allocated), Freed: int64(l.freed), Net: int64(l.allocated - l.freed), AtPeak: int64(l.atPeak),
		OwnAllocated: int64(l.ownAllocated), OwnAtPeak: int64(l.ownAtPeak), Count: l.count, Left: int64(l.left),
	}
	slices.Sort(l.others)
	for _, call := range l.others {
		if f := t.frame(l.w, l.w.process.info.PID, call); f.Execution > out.Execution {
			out.Frame = f
		}
	}
	return out
}

// left is what a stack had when the process's last cell was over: what it frees as it ends is not asked for. Without a cell, or while
// one runs, it is what the stack has in the end.
func (w *window) left(y *tally) event.Bytes {
	if p := w.process; p.ranCells > 0 && len(p.open) == 0 && y.cells == p.ranCells {
		return max(0, y.held-y.since)
	}
	return max(0, y.held)
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
		p := t.processes[k.pid]
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
