package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// look finds the lines of the notebook with memory at the peak of a cell.
func (x *reader) look(d *demand, t *top) {
	t.lines = map[place]*share{}
	w := x.window(t.id)
	if w == nil {
		return
	}
	for i := range w.Allocations {
		a := &w.Allocations[i]
		counts, blocks := d.counts(a.Meter)
		if !counts || a.AtPeak == 0 {
			continue
		}
		at, count, within := lineOf(a.Stack)
		if at != (place{}) {
			at.pid = t.pid
		}
		s := t.lines[at]
		if s == nil {
			s = &share{count: count}
			t.lines[at] = s
		}
		if blocks {
			s.blocks += a.AtPeak
		} else {
			s.mapped += a.AtPeak
		}
		if a.AtPeak > s.withinBytes {
			s.within, s.withinBytes = within, a.AtPeak
		}
	}
	for at, s := range t.lines {
		s.touched = max(s.blocks, s.mapped)
		if rose, ok := x.rose(t.pid, at); ok && !words.OfGPU(d.rank) {
			s.touched = min(s.touched, rose)
		}
		if at.execution > 0 {
			s.source = x.text(t.pid, at)
		}
	}
}

// counts reports whether the memory of a meter is a part of the demand, and whether the meter counts blocks, which lie
// in mapped memory.
func (d *demand) counts(meter string) (counts, blocks bool) {
	if words.OfGPU(d.rank) {
		return meter == d.rank, true
	}
	blocks = words.LiesWithin(meter) && meter != "cpu.heap"
	return !words.OfGPU(meter) && (blocks || meter == mapped), blocks
}

// mapped is the meter in which the blocks of all others lie.
const mapped = "cpu.mapped"

// text returns the text of a line of a cell.
func (x *reader) text(pid int, at place) string {
	id, ok := x.sources[cellRun{pid, at.execution}]
	if !ok {
		return ""
	}
	if x.texts == nil {
		x.texts = map[int]string{}
	}
	source, known := x.texts[id]
	if !known {
		if w := x.window(id); w != nil {
			source = w.Source
		}
		x.texts[id] = source
	}
	return lineOfText(source, at.line)
}

// lineOfText returns a line of a source, bounded.
func lineOfText(source string, number int) string {
	for l := range strings.Lines(source) {
		if number--; number == 0 {
			if l = strings.TrimSpace(l); strings.HasPrefix(l, "%%") { // the whole cell is one statement
				l = strings.TrimSpace(source)
			}
			return strings.Clone(strings.ToValidUTF8(l[:min(len(l), maxLine)], ""))
		}
	}
	return ""
}

// window makes one window again, with the stacks that allocated in it.
func (x *reader) window(id int) *model.Window {
	if x.r.Find != nil {
		w, ok := x.r.Find(id)
		if !ok {
			return nil
		}
		if x.r.Detail != nil {
			x.r.Detail(&w)
		}
		return &w
	}
	if i := slices.IndexFunc(x.r.Windows, func(w model.Window) bool { return w.ID == id }); i >= 0 {
		return &x.r.Windows[i]
	}
	return nil
}

// lineOf returns the outermost line of a cell on a stack, which is the user's own; without one the innermost line of a
// file of the user's. within is the innermost function of the user's below that line.
func lineOf(stack []model.Frame) (at place, count *int, within string) {
	inner, users := model.Users(stack)
	for i := len(stack) - 1; i >= 0; i-- {
		f := stack[i]
		if f.Execution == 0 {
			continue
		}
		if f.ExecutionCount != nil {
			count = new(*f.ExecutionCount)
		}
		if users && (inner.Execution != f.Execution || inner.Line != f.Line || inner.Function != f.Function) {
			within = nameOf(inner)
		}
		return place{execution: f.Execution, line: f.Line}, count, within
	}
	at = placeOf(stack)
	at.file, at.function = strings.Clone(at.file), strings.Clone(at.function)
	if users && inner.ExecutionCount != nil { // of a cell that ran before the session
		count = new(*inner.ExecutionCount)
	}
	return at, count, ""
}

// placeOf returns the line of [lineOf], with texts of the stack's own memory.
func placeOf(stack []model.Frame) place {
	for i := len(stack) - 1; i >= 0; i-- {
		if f := &stack[i]; f.Execution > 0 {
			return place{execution: f.Execution, line: f.Line}
		}
	}
	if inner, users := model.Users(stack); users {
		return place{line: inner.Line, file: inner.File, function: inner.Function}
	}
	return place{}
}

// nameOf returns a call for people. Its text is untrusted and not escaped.
func nameOf(f model.Frame) string {
	where := path.Base(f.File)
	if f.InCell() {
		where = words.FrameCell(&f)
	}
	if f.Line > 0 {
		where += fmt.Sprintf(" line %d", f.Line)
	}
	if f.Function != "<module>" && f.Function != "" {
		where += " " + f.Function
	}
	return strings.Clone(where[:min(len(where), 400)])
}

// rose returns the rise of resident memory in the statement that a line is in; ok is false where there is no such
// statement.
func (x *reader) rose(pid int, at place) (bytes int64, ok bool) {
	key := cellRun{pid, at.execution}
	best := -1
	for i, s := range x.statements[key] {
		if s.line <= at.line && (best < 0 || s.line >= x.statements[key][best].line) {
			best = i
		}
	}
	if best >= 0 {
		return x.statements[key][best].need, true
	}
	need, ok := x.needs[key]
	return need, ok
}
