package text

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
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
	o.withoutCells(v)
	if slices.ContainsFunc(v.r.Processes, func(p model.Process) bool { return p.PID == pid && p.Late }) {
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

func (o *leftover) stillThere() string {
	text := words.Bytes(o.end) + o.when()
	if below := o.childBytes(); below > 0 {
		text = words.Bytes(o.end+below) + o.when() + ", with its children (" + words.Bytes(o.end) + " without)"
	}
	if more, known := o.sinceAttach(); known {
		text += ", " + words.SinceAttach(more, worthAGap)
	}
	if parts := inWords(o.account(), mostLeft, o.partText); parts != "" && o.isWorthFreeing() {
		text += ": " + parts
	}
	return text
}

var assigned = regexp.MustCompile(`^\s*([\pL_][\pL\pN_]*)\s*=[^=]`)

// toFree names the names to delete, and what ends processes. If no name is known to hold memory, it gives the names
// that the lines assign. That is a hint, not more, because `scores = [m.fit(X).score(y) for m in models]` leaves its
// memory to models.
func (o *leftover) toFree() string {
	if named := o.named(); len(named) > 0 || o.freeing() != "" {
		text, rest := o.freeing(), o.beyondEntries(o.unnamedLines(named), named)
		switch {
		case text == "" && len(rest) > 0:
			return "no name of the notebook's holds much; " + o.beyondNames(&rest[0])
		case text == "":
			return "no name of the notebook's holds much"
		case len(rest) > 0:
			text += " · " + o.beyondNames(&rest[0])
		}
		return text
	}
	var parts []string
	seen := map[string]bool{}
	for _, l := range o.left() {
		if len(parts) == 3 || l.Left < worthAGap || l.Function != "<module>" {
			continue
		}
		name := ""
		if m := assigned.FindStringSubmatch(o.textOf(l)); m != nil {
			name = m[1]
		}
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		parts = append(parts, fmt.Sprintf("%s (%s)", name, words.Sampled(words.Bytes(l.Left), l.Sampled)))
	}
	looked := slices.ContainsFunc(o.r.Names, func(n model.Names) bool { return n.PID == o.pid })
	if !looked && len(parts) == 0 {
		return o.nobodyLooked()
	}
	if all := o.left(); len(parts) == 0 && len(all) > 0 && all[0].Left >= worthAGap {
		return "no name is known to hold it; " + o.beyondNames(&all[0])
	}
	if len(parts) == 0 {
		return "no line of a cell keeps much under a name"
	}
	if all := o.left(); looked && isLost(&all[0]) {
		return "no name holds much alone; " + o.beyondNames(&all[0])
	}
	text := "no name holds much alone; tracer audit --full says what holds it"
	switch {
	case !looked:
		text = o.nobodyLooked()
	case o.scattered:
		text = "which GPU a name's memory is on is not known; tracer audit --full says what holds it"
	}
	return text + ": the lines that made it assign " + strings.Join(parts, ", ")
}

// beyondNames says where to read on about memory of a line that no name holds, or how it was lost.
func (o *leftover) beyondNames(l *model.Line) string {
	if isLost(l) {
		text := words.Sampled(words.Bytes(min(l.Lost, l.Left)), l.Sampled) + " of " + words.Frame(&l.Frame) +
			" are lost in a cycle that the collector does not see: tracer audit has code that frees them"
		if l.Breaks != "" {
			text += ", and " + escape.OneLine(l.Breaks, false, MaxCode) + " breaks such a cycle before its name goes"
		}
		return text
	}
	return "tracer audit --full says what holds " + words.Sampled(words.Bytes(l.Left), l.Sampled) + " of " +
		words.Frame(&l.Frame) + o.leadingTo(l)
}

// isLost reports whether at least half of what a line has left is lost in cycles.
func isLost(l *model.Line) bool {
	lost := min(l.Lost, l.Left)
	return lost >= worthAGap && lost >= l.Left/2
}

// nobodyLooked says why nobody knows what holds memory: no look at the process's objects came to its end.
func (o *leftover) nobodyLooked() string {
	if o.lives() {
		return fmt.Sprintf("nobody looked at what holds it to the end; sudo tracer audit %d looks again", o.pid)
	}
	return "nobody looked at what holds it, as the kernel had ended"
}

// lives reports whether the process still lived when the session ended.
func (o *leftover) lives() bool {
	return slices.ContainsFunc(o.r.Processes, func(p model.Process) bool { return p.PID == o.pid && !p.Ended })
}
