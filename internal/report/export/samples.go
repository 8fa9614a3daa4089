package export

import (
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// part is a part of a meter's peak in a window, with its stack or the reason why there is none. The parts of a meter
// add up to its peak, to the byte.
type part struct {
	meter string
	stack []model.Frame // innermost first
	cut   bool          // there were more calls further out
	why   string        // the reason why there is no stack; "" if there is one

	atPeak    int64 // bytes
	allocated int64 // bytes
	count     int64 // allocations
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

// eachPart calls visit for all parts of a window's peaks, meter by meter. It returns the meters whose known blocks are
// larger than the peak: their parts do not add up.
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
		coverage, covered := window.Coverage[id]
		if coverage.UnlistedAtPeak != 0 || coverage.UnlistedAllocated != 0 {
			rest -= coverage.UnlistedAtPeak
			visit(part{
				meter: id, why: unlisted, atPeak: coverage.UnlistedAtPeak, allocated: coverage.UnlistedAllocated,
			})
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

// whyRest returns the reason why the rest of a peak has no stack. known says that the window has blocks of the meter.
func whyRest(meter string, known bool) string {
	switch {
	case !words.HasBlocks(meter):
		return noStacks
	case known:
		return before
	}
	return unchanged
}

// call is a frame as a viewer shows it, escaped.
type call struct {
	function, file string
	line           int64
	module         string // of native code
}

// callOf returns the call of a frame. The function of a cell's own code, "<module>", gets the name of the cell, because
// viewers take functions of the same name for one.
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

// clean returns a text of the target escaped, and cut to maxText.
func clean(s string) string { return escape.Bounded(s, maxText) }

// calls returns the calls of a part, innermost first. For a part without a stack it returns one call, with the reason
// as its name.
func (p *part) calls() []call {
	if p.why != "" {
		return []call{{function: p.why}}
	}
	calls := make([]call, 0, len(p.stack)+1)
	for i := range p.stack {
		calls = append(calls, callOf(&p.stack[i]))
	}
	if p.cut {
		calls = append(calls, call{function: cutOff})
	}
	return calls
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

// doubt says how far a figure may be off; "" if it is exact.
func doubt(figure model.Figure) string {
	switch {
	case figure.Exact:
		return ""
	case figure.Bound == nil:
		return "at least: part of the time or of the memory was missed"
	}
	return "off by at most " + words.Bytes(*figure.Bound)
}

// commands returns the command lines of the processes, by pid. Of several processes with a pid it has the first.
func commands(report *model.Report) map[int]string {
	commands := map[int]string{}
	for i := range report.Processes {
		p := &report.Processes[i]
		if _, known := commands[p.PID]; !known {
			commands[p.PID] = escape.Bounded(p.Command, 80)
		}
	}
	return commands
}
