package running

import (
	"bytes"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/words"
	"ipytracer/tracer/internal/tracee"
)

// OpenCell is the known state of a running cell.
type OpenCell struct {
	PID      int32
	File     string        // the file name in its code
	Ran      bool          // a statement of it was seen
	Decided  event.Outcome // at its result; unknown before
	Typed    []byte        // its text as it was typed, as far as it has arrived, in characters of kind bytes
	Kind     uint32
	total    int // bytes of the whole text
	Compiled []byte
	Told     bool              // its text has been queued
	Lines    []int32           // see [TypedLines]
	Found    *event.CellSource // the text, if the cell ran already at the attach
	Inputs   int64             // see [event.Boundary], if the cell ran already at the attach
}

// Cells has the running cells of a session, and the facts about other cells that are still needed.
type Cells struct {
	Open   map[uint64]*OpenCell // running cells, by number
	Newest uint64               // the highest number of a cell so far
	lines  map[cellFile][]int32 // see [TypedLines]; missing if code and typed text have the same lines
	Past   past                 // the cells that ran before the session
}

// Forget drops the cells that ran in a process as it ended.
func (all *Cells) Forget(pid int32) {
	for number, c := range all.Open {
		if c.PID == pid {
			delete(all.Open, number)
		}
	}
}

// Cell returns a running cell, which it creates at the first mention.
func (all *Cells) Cell(number uint64, pid int32) *OpenCell {
	c := all.Open[number]
	if c == nil {
		if all.Open == nil {
			all.Open = map[uint64]*OpenCell{}
		}
		c = &OpenCell{PID: pid}
		all.Open[number] = c
	}
	return c
}

// AddChunk adds a chunk of a cell's typed or, later, compiled text. It returns the text once it is complete, nil
// before.
func (all *Cells) AddChunk(chunk *ledger.SourceChunk) *event.CellSource {
	c := all.Cell(chunk.Cell, chunk.PID)
	if c.Told {
		return nil
	}
	if chunk.Kind != 0 {
		if chunk.Offset == len(c.Typed) { // if not, an earlier chunk is missing
			c.Typed, c.Kind, c.total = append(c.Typed, chunk.Text...), chunk.Kind, chunk.Total
		}
		if words.MarimoCell(c.File) != "" && len(c.Typed) >= min(c.total, ledger.SourceLimit) {
			return all.Tell(chunk.Cell, c) // marimo compiles what was typed
		}
		return nil
	}
	if chunk.Offset != len(c.Compiled) {
		return nil
	}
	c.Compiled = append(c.Compiled, chunk.Text...)
	if bytes.HasSuffix(c.Compiled, []byte{0}) || len(c.Compiled) >= ledger.CompiledLimit {
		return all.Tell(chunk.Cell, c)
	}
	return nil
}

// Tell returns a cell's text: as it was typed, or as it was compiled if a part of the typed text is missing.
func (all *Cells) Tell(number uint64, c *OpenCell) *event.CellSource {
	compiled, whole := bytes.CutSuffix(c.Compiled, []byte{0})
	out := &event.CellSource{Cell: number, PID: c.PID, Text: strings.ToValidUTF8(string(compiled), "\ufffd"),
		Truncated: !whole}
	if c.Kind != 0 && len(c.Typed) >= min(c.total, ledger.SourceLimit) {
		typed := ledger.DecodeText(c.Typed, c.Kind)
		if whole {
			c.Lines = TypedLines(out.Text, typed)
		}
		out.Text, out.Truncated = typed, c.total > len(c.Typed)
	}
	c.Told, c.Typed, c.Compiled = true, nil, nil
	all.keepLines(c)
	if out.Text == "" && out.Truncated {
		return nil
	}
	return out
}

// cellFile is a file name that the code of a process's cells has.
type cellFile struct {
	pid  int32
	name string
}

// maxLineMaps is the largest length of Cells.lines. Few cells are in it.
const maxLineMaps = 4096

// keepLines remembers where the lines of a cell's code were typed, for the stacks that go through it.
func (all *Cells) keepLines(c *OpenCell) {
	key := cellFile{c.PID, c.File}
	if c.Lines == nil || len(all.lines) >= maxLineMaps {
		delete(all.lines, key)
		return
	}
	if all.lines == nil {
		all.lines = map[cellFile][]int32{}
	}
	all.lines[key] = c.Lines
}

// TypedLine returns the line where a line of a cell's code was typed; lines of other code are unchanged. input is N of
// In[N] if the cell ran before the session, else 0.
func (all *Cells) TypedLine(pid int32, file string, line int32) (typed, input int32) {
	lines := all.lines[cellFile{pid, file}]
	past := all.Past.cell(pid, file)
	if past == nil {
		return LineIn(lines, line), 0
	}
	if lines == nil {
		lines = past.lines
	}
	return LineIn(lines, line), past.number
}

// LineIn looks a line up in a result of [TypedLines]. It returns 0 for a line beyond the end.
func LineIn(lines []int32, line int32) int32 {
	switch {
	case lines == nil || line <= 0:
		return line
	case int(line) > len(lines):
		return 0
	}
	return lines[line-1]
}

// TypedLines returns, for each line of the text that IPython compiles, its line in the typed text, from 1; 0 where that
// is not known. It returns nil where both have the same lines. IPython rewrites line for line (%magic, !command,
// help?), but it removes leading blank lines, and makes one line of a magic continued with a backslash and of a whole
// cell that begins with %%.
func TypedLines(compiled, typed string) []int32 {
	c, t := SplitLines(compiled), SplitLines(typed)
	if len(c) == len(t) {
		return nil
	}
	out := make([]int32, len(c))
	from := 0
	for from < len(t)-1 && t[from] == "" && c[0] != "" {
		from++
	}
	if !mapRewritten(out, c, t, from) {
		mapEqual(out, c, t, from)
	}
	return out
}

func SplitLines(text string) []string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i]) // common indentation is removed
	}
	return lines
}

// mapRewritten fills out as if IPython had rewritten the text line by line. It returns false if the numbers of lines
// contradict that.
func mapRewritten(out []int32, c, t []string, from int) bool {
	at := from
	for i := range c {
		if at >= len(t) {
			return false
		}
		out[i] = int32(at + 1)
		same := c[i] == t[at]
		for at++; !same && at < len(t) && strings.HasSuffix(t[at-1], `\`); at++ {
		}
	}
	return at == len(t)
}

// mapEqual fills out by matching equal lines: from the beginning, from the end, then in between. A single compiled line
// between the matches stands for all typed lines there.
func mapEqual(out []int32, c, t []string, from int) {
	clear(out)
	to, end := len(t), len(c)
	begin := 0
	for ; begin < end && from < to && c[begin] == t[from]; begin, from = begin+1, from+1 {
		out[begin] = int32(from + 1)
	}
	for ; end > begin && to > from && c[end-1] == t[to-1]; end, to = end-1, to-1 {
		out[end-1] = int32(to)
	}
	if end == begin+1 && to > from {
		out[begin] = int32(from + 1)
		return
	}
	for ; begin < end; begin++ {
		for k := from; k < min(to, from+maxSkipped); k++ {
			if c[begin] == t[k] {
				out[begin], from = int32(k+1), k+1
				break
			}
		}
	}
}

// maxSkipped is the number of typed lines searched for a match.
const maxSkipped = 200

// Outcome determines how a cell ended. told: IPython itself has reported it to the kernel half, as usual. Otherwise
// Outcome compares sys.last_value, the exception that IPython showed last, with the value before the cell. A value that
// was read after the next cell had begun proves nothing.
func (all *Cells) Outcome(t *tracee.Target, b *event.Boundary, opened func() uint64, told, ran bool) event.Outcome {
	before, stale, err := lookAtException(t.Python, opened, all)
	out := b.Outcome
	if !told && err == nil {
		out = judge(b.Outcome, ran, before, t.Python.Shown, stale || t.Python.Stale)
	}
	if out != event.OutcomeError {
		b.Exception = ""
	} else if after := t.Python.Shown; b.Exception == "" && err == nil && !stale && !t.Python.Stale &&
		after.Value != 0 && after != before {
		b.Exception = strings.ToValidUTF8(after.Type, "?")
	}
	return out
}

// lookAtException reads the exception that was shown last, and returns the one before. The read is stale if a newer
// cell than those known has begun, according to opened.
func lookAtException(p *tracee.Python, opened func() uint64, known *Cells) (before cpython.Exception, stale bool,
	err error) {
	before, stale = p.Shown, p.Stale
	shown, err := p.Live.LastException()
	for range 3 { // try again: it may be changing just now
		if err == nil {
			break
		}
		shown, err = p.Live.LastException()
	}
	if err != nil {
		p.Stale = true
		return before, stale, err
	}
	p.Shown, p.Stale = shown, opened() > known.Newest
	return before, stale, nil
}

// judge returns how a cell ended, from the kernel half's record and the exceptions shown before and after the cell.
// ran: a statement of the cell was seen to run, so that the kernel half knows whether one has failed. late: the
// exceptions may be those of a later cell.
func judge(seen event.Outcome, ran bool, before, after cpython.Exception, late bool) event.Outcome {
	switch {
	case late && seen == event.OutcomeOK:
		return event.OutcomeUnknown
	case late, after.Value == 0, after.Value == before.Value && after.Traceback == before.Traceback:
		return seen
	case after.Type == "KeyboardInterrupt":
		return event.OutcomeInterrupted
	case seen == event.OutcomeAbandoned, seen == event.OutcomeOK && ran &&
		!strings.HasSuffix(after.Type, "SyntaxError"):
		return seen
	}
	return event.OutcomeError
}
