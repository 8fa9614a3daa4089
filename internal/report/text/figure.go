package text

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Label returns the name of a window for people: In[3], an experiment's name, line 7. A cell that IPython ran without
// storing it is "(silent)", one with an unknown number "-". The result is not escaped.
func Label(w model.Window) string {
	switch {
	case w.Kind == model.Experiment:
		return w.Name
	case w.Kind == model.Statement && w.Line > 0:
		return fmt.Sprintf("line %d", w.Line)
	case w.Kind == model.Statement && w.Name != "", words.NameOf(&w) != "":
		return w.Name
	case w.Kind == model.Session:
		return "session"
	case w.Silent:
		return "(silent)"
	case w.ExecutionCount == nil:
		return "-"
	}
	return words.In(*w.ExecutionCount)
}

// headlines returns the meters with a column: by first, then the others, without those that are a part of another. It
// fails if the report has no meter called by; "" keeps the report's order.
func headlines(r *model.Report, by string) ([]string, error) {
	known := r.AllMeters()
	if by == "" {
		return words.Wholes(known), nil
	}
	if !slices.Contains(known, by) {
		return nil, fmt.Errorf("rank by %q: no such meter here; there are: %s", by, strings.Join(known, ", "))
	}
	return words.First(words.Wholes(known), by), nil
}

// The lengths at which names and texts from the target are cut.
const (
	maxName  = 28
	maxProse = 400
)

// maxLead is the shown length of a cell's source in a first line.
const maxLead = 160

// CellName returns the name of a cell for people: its In[N]. For a cell without one it returns its first line, or the
// number of its run if it has no text.
func CellName(w *model.Window) string {
	if (w.ExecutionCount != nil || words.NameOf(w) != "") && !w.Silent {
		return escape.Bounded(Label(*w), maxName)
	}
	for line := range strings.SplitSeq(beginning(w.Source), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			return "“" + escape.Bounded(line, maxCellText) + "”"
		}
	}
	return words.Cell(w.Execution, -1, w.Silent)
}

// maxCellText is the length of a cell's text, in cells, that names a cell without an In[N]: names stand in the first
// columns of tables.
const maxCellText = 16

// beginning returns as much of a text as a line's excerpt can need.
func beginning(text string) string {
	if len(text) > maxProse {
		return escape.Prefix(text, maxProse)
	}
	return text
}

// Which stretches have a row in the ranking.
const (
	mostRanked  = 15      // rows, unless the user asks for another number
	worthAGap   = 1 << 20 // bytes that a stretch must need
	shareOfAGap = 100     // a stretch must also need this part, one in 100, of the heaviest one's need
)

// WorthShowing is the least that one stack must have allocated, in bytes, for its cell to be shown.
const WorthShowing = 64 << 10

// MaxCode is the most characters of code that the reader is to type. It is more than ipytracer ever writes, so such
// code is never cut.
const MaxCode = 1 << 12

// cellLines returns the lines of a cell: a statement's line N is item N-1. A cell magic and all that follows it are one
// line, because IPython runs them as one statement.
func cellLines(c model.Window) []string {
	lines := strings.Split(c.Source, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "%%") {
			return append(lines[:i], strings.Join(lines[i:], "\n"))
		}
		if strings.TrimSpace(line) != "" {
			break
		}
	}
	return lines
}

// statementLabel returns "line 4" and ": model.fit(X, y)". For a statement that is not the user's it returns its name,
// such as "display and hooks", and "". lines are those of the cell.
func statementLabel(w model.Window, lines []string) (where, source string) {
	if w.Name != "" {
		return escape.Bounded(w.Name, maxName), ""
	}
	text := escape.Lines(w.Source, false, maxLead)
	if w.Line > 0 && w.Line <= len(lines) {
		text = escape.Lines(lines[w.Line-1], false, maxLead)
	}
	where = "one of its lines"
	if w.Line > 0 {
		where = fmt.Sprintf("line %d", w.Line)
	}
	if text != "" {
		source = ": " + strings.TrimSpace(text)
	}
	return where, source
}

// separator stands between remarks.
const separator = " · "

// remarks returns the remarks on a window: its status if it failed, its note, its refused requests, and the blocks of
// other processes that it opened. A separator follows each.
func remarks(w model.Window) []doc.Span {
	var spans []doc.Span
	if w.Status != model.OK && w.Status != "" {
		spans = append(spans, doc.Red(w.Status), doc.Dim(separator))
	}
	if w.Note != "" {
		spans = append(spans, doc.Yellow(escape.Bounded(w.Note, maxProse)), doc.Dim(separator))
	}
	for _, r := range w.Refused {
		spans = append(spans, doc.Yellow(words.Refusal(&r)), doc.Dim(separator))
	}
	if f := w.Foreign; f != nil {
		text := fmt.Sprintf("opened %s of other processes' GPU memory, closed %d",
			words.Plural(f.Opened, "block"), f.Closed)
		spans = append(spans, doc.Yellow(text), doc.Dim(separator))
	}
	return spans
}

// countersOf returns the counters of a window with a separator behind them; nil for none.
func countersOf(w *model.Window) []doc.Span {
	if w.Counters == nil {
		return nil
	}
	if counted := words.Counters(w.Counters); counted != "" {
		return []doc.Span{doc.Dim(counted), doc.Dim(separator)}
	}
	return nil
}

// trimmed drops the separator after the last remark.
func trimmed(spans []doc.Span) []doc.Span {
	for n := len(spans); n > 0 && (spans[n-1].Text == separator || spans[n-1].Text == ""); n-- {
		spans = spans[:n-1]
	}
	return spans
}
