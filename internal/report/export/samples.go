package export

import (
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// part is a part of a meter at a window's peak: its stack, or the reason why there is none. The parts of a meter add up
// to its peak, to the byte.
type part struct {
	meter string
	stack []model.Frame // innermost first
	cut   bool          // there were more calls further out
	why   string        // stands for a missing stack

	atPeak, allocated, count int64
}

// Texts in the place of a stack.
const (
	noStacks  = "[memory without stacks]"
	unlisted  = "[stacks that are not listed]"
	before    = "[made before, or not known]"
	unchanged = "[nothing of it moved here: an earlier window says who]"
	unknown   = "[no Python code, or not known]"
	cutOff    = "[calls further out that are not recorded]"
)

// maxText is the most cells of a name in an export.
const maxText = 512

// eachPart iterates over all parts of a window's peak, meter by meter. It returns the meters with larger known blocks
// than the peak: their parts do not add up.
func eachPart(w *model.Window, meters []string, visit func(part)) (off []string) {
	for _, id := range meters {
		f, measured := w.Meters[id]
		if !measured {
			continue
		}
		rest, seen := f.Peak, false
		for i := range w.Allocations {
			a := &w.Allocations[i]
			if a.Meter != id {
				continue
			}
			seen = true
			rest -= a.AtPeak
			p := part{
				meter: id, stack: a.Stack, cut: a.StackTruncated, atPeak: a.AtPeak, allocated: a.Allocated,
				count: a.Count,
			}
			if len(a.Stack) == 0 {
				p.why, p.cut = unknown, false
			}
			visit(p)
		}
		c, covered := w.Coverage[id]
		if c.UnlistedAtPeak != 0 || c.UnlistedAllocated != 0 {
			rest -= c.UnlistedAtPeak
			visit(part{meter: id, why: unlisted, atPeak: c.UnlistedAtPeak, allocated: c.UnlistedAllocated})
		}
		if rest < 0 {
			off = append(off, id)
		}
		if rest > 0 {
			visit(part{meter: id, why: whyRest(id, seen || covered), atPeak: rest})
		}
	}
	return off
}

// whyRest returns the reason why a part has no stack.
func whyRest(meter string, known bool) string {
	switch {
	case !words.HasBlocks(meter):
		return noStacks
	case known:
		return before
	}
	return unchanged
}

// call is a frame in a viewer. Viewers distinguish functions by name, and "<module>" is in every cell: so the name of a
// cell's own code is that of the cell.
type call struct {
	function, file string
	line           int64
	module         string // of native code
}

func callOf(f *model.Frame) call {
	c := call{function: f.Function, file: f.File, line: int64(f.Line), module: f.Module}
	if f.InCell() {
		c.file = words.FrameCell(f)
	}
	if f.InCell() && f.Function == "<module>" {
		c.function = c.file
	}
	if f.Native && c.file == "" {
		c.file = f.Module
	}
	c.function, c.file, c.module = clean(c.function), clean(c.file), clean(c.module)
	return c
}

func clean(s string) string { return escape.Bounded(s, maxText) }

// calls returns the calls of a part, innermost first; never none.
func (p *part) calls() []call {
	if p.why != "" {
		return []call{{function: p.why}}
	}
	all := make([]call, 0, len(p.stack)+1)
	for i := range p.stack {
		all = append(all, callOf(&p.stack[i]))
	}
	if p.cut {
		all = append(all, call{function: cutOff})
	}
	return all
}

// title returns the name of a window for people.
func title(w *model.Window) string {
	switch w.Kind {
	case model.Cell:
		return words.CellOf(w)
	case model.Session:
		return "session"
	}
	return w.Kind + " " + clean(w.Name)
}

// doubt describes the uncertainty of a figure, "" if it is exact.
func doubt(f model.Figure) string {
	switch {
	case f.Exact:
		return ""
	case f.Bound == nil:
		return "at least: part of the time or of the memory was missed"
	}
	return "off by at most " + words.Bytes(*f.Bound)
}

// commands returns the programs of the processes, by their pids.
func commands(r *model.Report) map[int]string {
	all := map[int]string{}
	for i := range r.Processes {
		p := &r.Processes[i]
		if _, known := all[p.PID]; !known {
			all[p.PID] = escape.Bounded(p.Command, 80)
		}
	}
	return all
}
