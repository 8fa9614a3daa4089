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
	r   *model.Report
	pid int
	// end is bytes at the end, and cached those of them that PyTorch's allocator keeps for coming tensors.
	end, cached int64
	start       int64 // bytes at the session's beginning; 0 if the process began with it
	// idle: no cell of the process ran, and the end is that of the session.
	idle bool
	full bool // all code is shown
	// scattered: the session used several GPUs, so a name's memory may be on another.
	scattered bool
	children  []model.AccountPart     // its processes
	textOf    func(model.Line) string // of the source
}

// leftoverOf returns the remaining memory of a process.
func leftoverOf(v *view, pid int) *leftover {
	o := &leftover{
		memory: memory(v.first()), r: v.r, pid: pid, end: v.ends[pid].end, cached: v.ends[pid].cached, textOf: v.textOf,
		full: v.o.Full,
	}
	if _, ran := v.ends[pid]; !ran { // the end of the session is that of a process without a cell
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

// usedGPUs adds the GPUs that a process used, by the prefix of their meters.
func usedGPUs(used map[string]bool, figures map[string]model.Figure) {
	for id, f := range figures {
		if words.OfGPU(id) && !strings.HasSuffix(id, ".unattributed") && (f.Peak > 0 || !f.Exact) {
			used[memory(id).device()] = true
		}
	}
}

// left returns the lines of cells with memory that is still there, the most first. Of what threads, tasks and callbacks
// made it is the outermost line.
func (o *leftover) left() (all []model.Line) {
	for _, l := range o.r.Lines {
		if l.Function != "<module>" {
			if l.Outer != l.Left {
				l.Held = nil // of all of it
			}
			l.Left = l.Outer
		}
		if l.PID == o.pid && l.Execution > 0 && l.Left >= WorthShowing && o.has(l.Meter) &&
			!words.IsOutermost(l.Meter) {
			if l.Left -= o.untouched(&l); l.Left >= WorthShowing {
				all = append(all, l)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b model.Line) int { return cmp.Compare(b.Left, a.Left) })
	for i := range all { // tiny ones beside the first are not mentioned
		if i > 0 && all[i].Left < all[0].Left/100 {
			return all[:i]
		}
	}
	return all
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

// isTyped reports whether code can be typed into the process: it runs cells.
func (o *leftover) isTyped() bool {
	return !o.idle || hasProcess(o.r, o.pid, func(p *model.Process) bool { return p.IPython != "" })
}

// untouched returns the part of a line's memory that the process has never touched, as far as names hold it.
func (o *leftover) untouched(l *model.Line) (bytes int64) {
	for i := range o.r.Variables {
		x := &o.r.Variables[i]
		if o.memory == residentMeter && x.PID == o.pid && x.Execution == l.Execution && x.Line == l.Line {
			bytes += max(0, x.Bytes-o.held(x))
		}
	}
	return bytes
}

// entries returns the code that frees the ranking memory, in the order in which its predictions hold: of resident
// memory, that of the report.
func (o *leftover) entries() (all []model.Freeing) {
	for _, f := range o.r.ToFree {
		if f.PID == o.pid && o.falls(&f) >= worthAGap && !o.scattered {
			all = append(all, f)
		}
	}
	ordered := func(f model.Freeing) bool { return f.Resident != nil }
	if o.device() != "" || !slices.ContainsFunc(all, ordered) {
		slices.SortStableFunc(all, func(a, b model.Freeing) int { return cmp.Compare(o.falls(&b), o.falls(&a)) })
	}
	return all
}

// named returns the memory that a process's names hold at the end, alone or several together, the most first. It
// returns none if the GPU of such memory is not known.
func (o *leftover) named() (out []together) {
	if o.scattered {
		return nil
	}
	shared := map[string]bool{}
	for _, f := range o.r.ToFree {
		if f.PID != o.pid || len(f.Names) < 2 || f.Shared < worthAGap || o.holds(&f) < worthAGap {
			continue
		}
		for _, name := range f.Names {
			shared[name] = true
		}
		out = append(out, together{names: f.Names, bytes: o.holds(&f), exact: f.Exact,
			all: membersOf(o.r.Variables, &f), collects: f.Collects, maps: f.Maps})
	}
	for i := range o.r.Variables {
		if x := &o.r.Variables[i]; x.PID == o.pid && !shared[x.Name] && o.held(x) >= worthAGap && !isInterpreters(x) {
			out = append(out, together{
				names: []string{x.Name}, bytes: o.held(x), exact: x.Exact, all: []*model.Variable{x},
				maps: x.Maps,
			})
		}
	}
	slices.SortStableFunc(out, func(a, b together) int { return cmp.Compare(b.bytes, a.bytes) })
	return out
}

// unnamedLines returns the lines of cells with memory that is still there, but that no name holds: less what names
// hold.
func (o *leftover) unnamedLines(named []together) []model.Line {
	isCovered := func(h model.HeldPart) bool {
		return slices.ContainsFunc(named, func(t together) bool { return goesWith(&h, t.names, t.collects) })
	}
	out := o.left()
	takeParts(out, isCovered)
	return slices.DeleteFunc(out, func(l model.Line) bool {
		return l.Left < max(worthAGap, o.end/100) || l.Held == nil && slices.ContainsFunc(named, func(t together) bool {
			return slices.ContainsFunc(t.all, func(x *model.Variable) bool {
				return x.Execution == l.Execution && x.Line == l.Line
			})
		})
	})
}

// goesWith reports whether a part of a line goes when some names let go of it.
func goesWith(h *model.HeldPart, names []string, collects bool) bool {
	return (collects || !h.Waits) && !slices.ContainsFunc(h.Names, func(name string) bool {
		return !slices.Contains(names, name)
	})
}

// takeParts takes some of their parts from lines whose holders are known.
func takeParts(lines []model.Line, takes func(model.HeldPart) bool) {
	for i := range lines {
		l, others := &lines[i], []model.HeldPart{}
		for _, h := range l.Held {
			if takes(h) {
				l.Left -= h.Bytes
			} else {
				others = append(others, h)
			}
		}
		if l.Held != nil {
			l.Held = others
		}
	}
}

// sinceAttach returns the growth of a process from the attach to the end; false for one that began with the session.
func (o *leftover) sinceAttach() (more int64, known bool) {
	return o.end - o.start, o.start > 0
}

// isWorthFreeing reports whether the session, or a name of the notebook's, has left memory. In a session without a cell
// all memory is asked for.
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

// toEnd returns the kernel's processes that code ends, those with at least as much as a name must have to be named.
func (o *leftover) toEnd() []model.AccountPart {
	return slices.DeleteFunc(slices.Clone(o.children), func(p model.AccountPart) bool {
		return p.Type == "" || p.Bytes < worthAGap
	})
}
