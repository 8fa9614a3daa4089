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
func eachPart(window *model.Window, meters []string, visit func(part)) (off []string) {
	for _, id := range meters {
		figure, measured := window.Meters[id]
		if !measured {
			continue
		}
		rest, seen := figure.Peak, false
		for i := range window.Allocations {
			allocation := &window.Allocations[i]
			if allocation.Meter != id {
				continue
			}
			seen = true
			rest -= allocation.AtPeak
			p := part{
				meter: id, stack: allocation.Stack, cut: allocation.StackTruncated, atPeak: allocation.AtPeak,
				allocated: allocation.Allocated,
				count:     allocation.Count,
			}
			if len(allocation.Stack) == 0 {
				p.why, p.cut = unknown, false
			}
			visit(p)
		}
		c, covered := window.Coverage[id]
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

func callOf(frame *model.Frame) call {
	c := call{function: frame.Function, file: frame.File, line: int64(frame.Line), module: frame.Module}
	if frame.InCell() {
		c.file = words.FrameCell(frame)
	}
	if frame.InCell() && frame.Function == "<module>" {
		c.function = c.file
	}
	if frame.Native && c.file == "" {
		c.file = frame.Module
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
func title(window *model.Window) string {
	switch window.Kind {
	case model.Cell:
		return words.CellOf(window)
	case model.Session:
		return "session"
	}
	return window.Kind + " " + clean(window.Name)
}

// doubt describes the uncertainty of a figure, "" if it is exact.
func doubt(figure model.Figure) string {
	switch {
	case figure.Exact:
		return ""
	case figure.Bound == nil:
		return "at least: part of the time or of the memory was missed"
	}
	return "off by at most " + words.Bytes(*figure.Bound)
}

// commands returns the programs of the processes, by their pids.
func commands(report *model.Report) map[int]string {
	all := map[int]string{}
	for i := range report.Processes {
		p := &report.Processes[i]
		if _, known := all[p.PID]; !known {
			all[p.PID] = escape.Bounded(p.Command, 80)
		}
	}
	return all
}
