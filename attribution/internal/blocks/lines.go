package blocks

import (
	"cmp"
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// lineSum is the sum of one line on one meter in a session.
type lineSum struct {
	allocated, freed, atPeak, ownAllocated, ownAtPeak, left event.Bytes

	count   int64
	call    uint32                // index in the stack table's Frames
	sampled bool                  // part of it is estimated from samples
	others  int32                 // the first of its other runs in lineSums.others, from 1; 0 for none
	held    map[int32]event.Bytes // parts that names hold, see heldParts
	lost    lostPart
	outer   event.Bytes // the part of left for which no line of a cell is further out in the stack
}

// lineSums are the sums of all lines on a meter in a session.
type lineSums struct {
	t      *Lister
	w      *windows.Window
	meter  event.Meter
	held   *heldParts // nil where that is not known
	lost   map[stacks.MeterStack]lostPart
	sums   []lineSum
	others []otherRun
	runs   map[event.Frame]int32 // places in sums, from 1, of lines that have a name for each run
}

// otherRun is a call of the same line in another run of its cell. next is the place of the following one, from 1; 0 for
// none.
type otherRun struct {
	call uint32
	next int32
}

// Lines adds up, for each line of code in the sessions of the attached processes and of the Pythons that they start,
// the allocations of that line and of the functions that it called.
func (li *Lister) Lines() (out []model.Line) {
	held, lost := li.heldByNames(), li.lostInCycles()
	for _, w := range li.Table.Staying {
		if w.Kind != windows.KindSession && w.Kind != windows.KindLife {
			continue
		}
		for m, all := range w.Tallies {
			copyInto(all, li.Allocations.Holdings, course.Key{PID: w.Process.Info.PID, Meter: m})
			pid := w.Process.Info.PID
			l := lineSums{t: li, w: w, meter: m, held: held[pid], lost: lost[pid], runs: map[event.Frame]int32{}}
			l.add(all)
			out = append(out, l.largest()...)
		}
	}
	return mostLines(out)
}

// mostLines returns the heaviest maxLines lines, in the order of a report.
func mostLines(all []model.Line) []model.Line {
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(x, y model.Line) int {
		return cmp.Or(cmp.Compare(y.AtPeak, x.AtPeak), cmp.Compare(y.Allocated, x.Allocated),
			cmp.Compare(x.Meter, y.Meter), cmp.Compare(x.PID, y.PID),
			stacks.OrderFrames(x.Frame, y.Frame))
	})
	return slices.Clone(all[:min(len(all), maxLines)])
}

// largest returns the lines that can be among the heaviest maxLines of a report.
func (l *lineSums) largest() []model.Line {
	slices.SortFunc(l.sums, func(x, y lineSum) int {
		return cmp.Or(cmp.Compare(y.atPeak, x.atPeak), cmp.Compare(y.allocated, x.allocated))
	})
	n := min(len(l.sums), maxLines)
	for n > 0 && n < len(l.sums) && l.sums[n].atPeak == l.sums[n-1].atPeak &&
		l.sums[n].allocated == l.sums[n-1].allocated {
		n++
	}
	out := make([]model.Line, n)
	for i := range out {
		out[i] = l.line(&l.sums[i])
	}
	return mostLines(out)
}

// add adds up the tallies of the meter's stacks by their lines. The same line in several runs of a cell counts as one,
// although the file name of the cell's code differs.
func (l *lineSums) add(tallies *stacks.Tallies) {
	t, table := l.t, l.t.Stacks
	places := make([]int32, len(table.Frames)) // the place of each call in sums, from 1
	l.sums = make([]lineSum, 0, min(len(table.Frames), tallies.Len()))
	for _, stack := range slices.Sorted(tallies.Stacks(t.Allocations.Holdings)) {
		s := table.Of(stack)
		y := tallies.Tally(t.Allocations.Holdings, course.Key{PID: l.w.Process.Info.PID, Meter: l.meter}, stack)
		if s == nil || y.IsNothing() {
			continue
		}
		left, at := l.w.Left(&y), stacks.MeterStack{Meter: l.meter, Stack: stack}
		calls := table.CallsOf(s)[:len(t.Symbolizer.CellsIn(l.w, s))]
		for i, call := range calls {
			if slices.Contains(calls[:i], call) { // a line that calls itself counts once
				continue
			}
			if places[call] == 0 {
				places[call] = l.placeOf(call)
			}
			sum := &l.sums[places[call]-1]
			sum.add(&y, left, i == 0)
			sum.markSampled(t.Stacks.IsSampled(stack))
			l.held.addTo(sum, at)
			sum.lost.add(l.lost[at])
		}
		if n := len(calls); n > 0 {
			l.sums[places[calls[n-1]]-1].outer += left
		}
	}
}

// placeOf returns the place in sums, from 1, of a call's line: that of another run of its cell, or a new one.
func (l *lineSums) placeOf(call uint32) int32 {
	f := l.t.Stacks.Frame(call)
	run := stacks.AnyRun(f.File)
	if run == f.File {
		l.sums = append(l.sums, lineSum{call: call})
		return int32(len(l.sums))
	}
	f.File = run
	if at := l.runs[f]; at > 0 {
		sum := &l.sums[at-1]
		l.others = append(l.others, otherRun{call, sum.others})
		sum.others = int32(len(l.others))
		return at
	}
	l.sums = append(l.sums, lineSum{call: call})
	l.runs[f] = int32(len(l.sums))
	return l.runs[f]
}

func (l *lineSum) add(y *stacks.Tally, left event.Bytes, own bool) {
	l.allocated += y.Allocated
	l.freed += y.Freed
	l.atPeak += y.AtPeak
	l.count += y.Count
	l.left += left
	if own {
		l.ownAllocated += y.Allocated
		l.ownAtPeak += y.AtPeak
	}
}

// markSampled records that part of the sum may be estimated.
func (l *lineSum) markSampled(is bool) { l.sampled = l.sampled || is }

// line returns a line of a report. For several runs of a cell it is the line of the latest run.
func (l *lineSums) line(sum *lineSum) model.Line {
	t, pid := l.t, l.w.Process.Info.PID
	out := model.Line{
		PID: int(pid), Meter: l.meter.String(),
		Frame:     t.Symbolizer.Frame(sum.call, t.Symbolizer.CellIn(l.w, pid, sum.call)),
		Allocated: int64(sum.allocated), Freed: int64(sum.freed), Net: int64(sum.allocated - sum.freed),
		AtPeak:       int64(sum.atPeak),
		OwnAllocated: int64(sum.ownAllocated), OwnAtPeak: int64(sum.ownAtPeak), Count: sum.count,
		Left: int64(sum.left), Outer: int64(sum.outer), Sampled: sum.sampled, Held: l.held.list(sum),
		Lost: int64(min(sum.lost.bytes, max(sum.left, 0))), Breaks: sum.lost.breaks,
	}
	var others []uint32
	for at := sum.others; at > 0; at = l.others[at-1].next {
		others = append(others, l.others[at-1].call)
	}
	slices.Sort(others)
	for _, call := range others {
		if f := t.Symbolizer.Frame(call, t.Symbolizer.CellIn(l.w, pid, call)); f.Execution > out.Execution {
			out.Frame = f
		}
	}
	return out
}

// Tensors groups PyTorch's blocks that live at the end of a session by allocating stack and by size.
func (li *Lister) Tensors() []model.Tensors {
	type key struct {
		pid   int32
		meter event.Meter
		stack uint64
		size  event.Bytes
	}
	type sum struct{ count, asked, known int64 }
	sums := map[key]sum{}
	for at, b := range li.Allocations.Live {
		if !windows.IsActive(at.Meter) {
			continue
		}
		k := key{at.PID, at.Meter, b.Stack, b.Size}
		s := sums[k]
		s.count++
		if asked, ok := li.Allocations.asked[stacks.AskedKey{PID: at.PID, Address: at.Address}]; ok {
			s.asked += int64(asked)
			s.known++
		}
		sums[k] = s
	}
	merged := map[string]*model.Tensors{}
	for k, s := range sums {
		p := li.Processes.ByPID[k.pid]
		var frames []model.Frame
		if stack := li.Stacks.Of(k.stack); stack != nil && li.Processes.SessionOf(p) != nil {
			frames = li.Symbolizer.Frames(li.Processes.SessionOf(p), stack)
		}
		id := stacks.FrameKey(append([]model.Frame{{Function: k.meter.String(), Line: int(k.pid)}, {Line: int(k.size)}},
			frames...))
		row := merged[id]
		if row == nil {
			row = &model.Tensors{PID: int(k.pid), Meter: k.meter.String(), Size: int64(k.size),
				Stack: append([]model.Frame{}, frames...)}
			merged[id] = row
		}
		row.Count += s.count
		row.Bytes += s.count * int64(k.size)
		row.Rounding += s.known*int64(k.size) - s.asked
		row.Unknown += s.count - s.known
	}
	var out []model.Tensors
	for _, one := range merged {
		out = append(out, *one)
	}
	slices.SortFunc(out, func(x, y model.Tensors) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(y.Size, x.Size), cmp.Compare(x.Meter, y.Meter),
			cmp.Compare(x.PID, y.PID),
			slices.CompareFunc(x.Stack, y.Stack, stacks.OrderFrames))
	})
	return slices.Clip(out[:min(len(out), stacks.MaxListed)])
}

// maxLines limits the lines of a report to those with the most bytes at the peak.
const maxLines = 3000
