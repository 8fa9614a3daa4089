package text

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// leftover is the ranking memory that a process has after its last cell.
type leftover struct {
	memory
	r      *model.Report
	pid    int
	end    int64 // bytes at the end
	cached int64 // the part of end that PyTorch's allocator keeps for coming tensors
	start  int64 // bytes at the session's beginning; 0 if the process began with it
	// idle: no cell of the process ran, so end is from the end of the session.
	idle bool
	full bool // all code is shown
	// scattered: the session used several GPUs, so a name's memory may be on another one.
	scattered bool
	children  []model.AccountPart     // the processes below the kernel
	textOf    func(model.Line) string // returns the source of a line
}

// leftoverOf returns the remaining memory of a process.
func leftoverOf(v *view, pid int) *leftover {
	o := &leftover{
		memory: memory(v.first()), r: v.r, pid: pid, end: v.ends[pid].end, cached: v.ends[pid].cached, textOf: v.textOf,
		full: v.o.Full,
	}
	if _, ran := v.ends[pid]; !ran {
		o.end, o.idle = v.sessions[pid][v.first()].End, true
	}
	if isLate(v.r, pid) {
		o.start = v.sessions[pid][v.first()].Start
	}
	used := map[string]bool{}
	for _, figures := range v.sessions {
		usedGPUs(used, figures)
	}
	for _, p := range v.r.Processes {
		usedGPUs(used, p.Meters)
	}
	o.scattered = o.device() != "" && len(used) > 1
	o.children = o.findChildren()
	return o
}

// usedGPUs adds the GPUs that a process used to used, by the prefix of their meters.
func usedGPUs(used map[string]bool, figures map[string]model.Figure) {
	for id, f := range figures {
		if words.OfGPU(id) && !strings.HasSuffix(id, ".unattributed") && (f.Peak > 0 || !f.Exact) {
			used[memory(id).device()] = true
		}
	}
}

// left returns the lines of cells with memory that is still there, the largest first. A line inside a function counts
// only what it allocated as the outermost line of a stack, as in threads, tasks and callbacks. Lines with less than a
// hundredth of the largest are left out.
func (o *leftover) left() (lines []model.Line) {
	for _, l := range o.r.Lines {
		if l.Function != "<module>" {
			if l.Outer != l.Left {
				l.Held = nil // the parts add up to l.Left, and would be too much
			}
			l.Left = l.Outer
		}
		isCells := l.PID == o.pid && l.Execution > 0 && l.Meter != residentMeter
		if !isCells || l.Left < WorthShowing || !o.includes(l.Meter) || words.IsOutermost(l.Meter) {
			continue
		}
		if l.Left -= o.untouched(&l); l.Left >= WorthShowing {
			lines = append(lines, l)
		}
	}
	slices.SortStableFunc(lines, func(a, b model.Line) int { return cmp.Compare(b.Left, a.Left) })
	for i := range lines {
		if i > 0 && lines[i].Left < lines[0].Left/100 {
			return lines[:i]
		}
	}
	return lines
}

// lives reports whether the process still lived when the session ended.
func (o *leftover) lives() bool {
	return hasProcess(o.r, o.pid, func(p *model.Process) bool { return !p.Ended })
}

// when names the moment of the remaining memory.
func (o *leftover) when() string {
	if o.idle {
		return " at the end"
	}
	return " after the last cell"
}

// takesCode reports whether code can be typed into the process: it runs cells.
func (o *leftover) takesCode() bool {
	return !o.idle || hasProcess(o.r, o.pid, func(p *model.Process) bool { return p.IPython != "" })
}

// untouched returns the bytes of a line's memory that the process has never touched. Only memory that names hold is
// counted. It returns 0 unless resident memory ranks.
func (o *leftover) untouched(l *model.Line) (bytes int64) {
	for i := range o.r.Variables {
		x := &o.r.Variables[i]
		if o.memory == residentMeter && x.PID == o.pid && x.Execution == l.Execution && x.Line == l.Line {
			bytes += max(0, x.Bytes-o.ofName(x))
		}
	}
	return bytes
}

// entries returns the code that frees the ranking memory. Predictions for resident memory hold only in the report's
// order, so they keep it; other entries are sorted, the largest first.
func (o *leftover) entries() (entries []model.Freeing) {
	for _, f := range o.r.ToFree {
		if f.PID == o.pid && o.freedBy(&f) >= worthAGap && !o.scattered {
			entries = append(entries, f)
		}
	}
	needsOrder := func(f model.Freeing) bool { return f.Resident != nil }
	if o.device() != "" || !slices.ContainsFunc(entries, needsOrder) {
		larger := func(a, b model.Freeing) int { return cmp.Compare(o.freedBy(&b), o.freedBy(&a)) }
		slices.SortStableFunc(entries, larger)
	}
	return entries
}

// named returns the memory that the process's names hold at the end, the largest first. Names that hold memory only
// together are one item. It returns nil if the session used several GPUs.
func (o *leftover) named() (out []together) {
	if o.scattered {
		return nil
	}
	shared := map[string]bool{}
	for _, f := range o.r.ToFree {
		if f.PID != o.pid || len(f.Names) < 2 || f.Shared < worthAGap || o.ofNames(&f) < worthAGap {
			continue
		}
		for _, name := range f.Names {
			shared[name] = true
		}
		out = append(out, together{names: f.Names, bytes: o.ofNames(&f), exact: f.Exact,
			all: membersOf(o.r.Variables, &f), collects: f.Collects, maps: f.Maps})
	}
	for i := range o.r.Variables {
		x := &o.r.Variables[i]
		if x.PID == o.pid && !shared[x.Name] && o.ofName(x) >= worthAGap && !x.IsInterpreters() {
			out = append(out, together{names: []string{x.Name}, bytes: o.ofName(x), exact: x.Exact,
				all: []*model.Variable{x}, maps: x.Maps})
		}
	}
	slices.SortStableFunc(out, func(a, b together) int { return cmp.Compare(b.bytes, a.bytes) })
	return out
}

// unnamedLines returns the lines of [leftover.left] without the memory that named holds, if at least a hundredth of the
// process's memory remains. A line whose holders are not known is left out if one of the names was made there.
func (o *leftover) unnamedLines(named []together) []model.Line {
	isNamed := func(h model.HeldPart) bool {
		return slices.ContainsFunc(named, func(t together) bool { return isFreedBy(&h, t.names, t.collects) })
	}
	madeAName := func(l *model.Line) bool {
		return slices.ContainsFunc(named, func(t together) bool {
			return slices.ContainsFunc(t.all, func(x *model.Variable) bool {
				return x.Execution == l.Execution && x.Line == l.Line
			})
		})
	}
	lines := o.left()
	removeHeld(lines, isNamed)
	return slices.DeleteFunc(lines, func(l model.Line) bool {
		return l.Left < max(worthAGap, o.end/100) || l.Held == nil && madeAName(&l)
	})
}

// isFreedBy reports whether a part of a line's memory is freed once these names are deleted: no other name holds it
// and, if it waits for the collector, collects is true.
func isFreedBy(h *model.HeldPart, names []string, collects bool) bool {
	isOther := func(name string) bool { return !slices.Contains(names, name) }
	return (collects || !h.Waits) && !slices.ContainsFunc(h.Names, isOther)
}

// removeHeld subtracts, from lines whose holders are known, the held parts that remove selects.
func removeHeld(lines []model.Line, remove func(model.HeldPart) bool) {
	for i := range lines {
		l, others := &lines[i], []model.HeldPart{}
		for _, h := range l.Held {
			if remove(h) {
				l.Left -= h.Bytes
			} else {
				others = append(others, h)
			}
		}
		if l.Held != nil { // nil means that the holders are not known
			l.Held = others
		}
	}
}

// sinceAttach returns the growth of a process from the attach to the end. known is false if the process began with the
// session.
func (o *leftover) sinceAttach() (more int64, known bool) {
	return o.end - o.start, o.start > 0
}

// isWorthFreeing reports whether the session, or a name of the notebook's, has left memory. It is true for a session
// without a cell: its user asks about all memory.
func (o *leftover) isWorthFreeing() bool {
	more, known := o.sinceAttach()
	return o.idle || !known || more >= worthAGap || len(o.named()) > 0 || len(o.left()) > 0 ||
		o.childBytes() >= worthAGap
}

// resident returns the parts of the process's resident memory; nil for another meter, and if nobody looked.
func (o *leftover) resident() *model.Resident {
	i := slices.IndexFunc(o.r.Resident, func(r model.Resident) bool { return r.PID == o.pid })
	if o.memory != residentMeter || i < 0 {
		return nil
	}
	return &o.r.Resident[i]
}

// childBytes returns the memory of the kernel's processes at the end.
func (o *leftover) childBytes() (sum int64) {
	for _, p := range o.children {
		sum += p.Bytes
	}
	return sum
}

// toEnd returns the processes below the kernel that code can end, if they have at least worthAGap.
func (o *leftover) toEnd() []model.AccountPart {
	return slices.DeleteFunc(slices.Clone(o.children), func(p model.AccountPart) bool {
		return p.Type == "" || p.Bytes < worthAGap
	})
}
