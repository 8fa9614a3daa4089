package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// findLines fills in the notebook's lines that have memory at the peak of a window.
func (x *reader) findLines(d *demand, t *highWindow) {
	t.lines = map[place]*lineMemory{}
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
			s = &lineMemory{count: count}
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
		if rose, ok := x.riseOf(t.pid, at); ok && !words.OfGPU(d.rank) {
			s.touched = min(s.touched, rose)
		}
		if at.execution > 0 {
			s.source = x.text(t.pid, at)
		}
	}
}

// counts reports whether memory of a meter is a part of the demand, and whether the meter counts blocks: these lie in
// mapped memory, which another meter counts, too.
func (d *demand) counts(meter string) (counts, blocks bool) {
	if words.OfGPU(d.rank) {
		return meter == d.rank, true
	}
	blocks = words.LiesWithin(meter) && meter != "cpu.heap"
	return !words.OfGPU(meter) && (blocks || meter == mapped), blocks
}

// mapped is the meter of mapped memory. The blocks of all other meters of the CPU lie in mapped memory.
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

// lineOfText returns a line of a source, at most maxLine bytes. For the line of a magic such as %%time it returns the
// beginning of the whole source, because the cell is one statement.
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

// window returns a window by its id, with its allocations; nil if there is none.
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

// lineOf returns the user's line that called: the outermost line of a cell on the stack, or else the innermost line in
// one of the user's files. within describes the user's innermost function below the line of a cell.
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
	at = outermostPlace(stack)
	at.file, at.function = strings.Clone(at.file), strings.Clone(at.function)
	if users && inner.ExecutionCount != nil { // of a cell that ran before the session
		count = new(*inner.ExecutionCount)
	}
	return at, count, ""
}

// outermostPlace returns the same place as [lineOf]. Its texts are parts of the stack's texts.
func outermostPlace(stack []model.Frame) place {
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

// nameOf describes a call for people: file, line and function. The text is untrusted and not escaped.
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

// riseOf returns by how much resident memory rose in the statement that contains a line, or else in the cell; ok is
// false if neither is known.
func (x *reader) riseOf(pid int, at place) (bytes int64, ok bool) {
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
