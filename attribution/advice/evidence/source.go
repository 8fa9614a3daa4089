package evidence

import (
	"strings"

	"ipytracer/attribution/advice/syntax"
	"ipytracer/model"
)

// shows reports whether a statement at the end of a cell shows a value.
func shows(s *Statement) bool {
	e, ok := s.Node.(*syntax.ExprStmt)
	if !ok {
		return s.Node == nil
	}
	rest := s.Cell.Window.Source[min(e.End.Offset, len(s.Cell.Window.Source)):]
	return !strings.HasPrefix(strings.TrimLeft(rest, " \t"), ";")
}

// isMagic reports whether a cell begins with a magic that takes the whole cell.
func isMagic(c *Cell) bool {
	return strings.HasPrefix(strings.TrimLeft(c.Window.Source, " \t\r\n"), "%%")
}

// Patched returns the source of a cell with edits in it. Edits must not overlap.
func Patched(lines []string, edits []model.AdviceEdit) []string {
	var out []string
	at := 1
	for _, e := range edits { // in order of lines
		for ; at < e.StartLine && at <= len(lines); at++ {
			out = append(out, lines[at-1])
		}
		if !e.Delete {
			out = append(out, strings.Split(e.Text, "\n")...)
		}
		at = max(at, e.EndLine+1)
	}
	for ; at <= len(lines); at++ {
		out = append(out, lines[at-1])
	}
	return out
}
