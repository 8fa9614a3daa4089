package attribution

import (
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// note is a note of a window, after those before it. It never changes, so that copies of a window share it. nil is
// none.
type note struct {
	words.Note
	before *note
}

// alone returns a note without values and without others before it.
func alone(kind words.NoteKind) *note { return &note{Note: words.Note{Kind: kind}} }

// and returns the notes with one more.
func (n *note) and(next words.Note) *note { return &note{next, n} }

// is reports whether a kind is all that is noted.
func (n *note) is(kind words.NoteKind) bool { return n != nil && n.before == nil && n.Kind == kind }

// text returns the notes in the words of a report.
func (n *note) text() string {
	texts := make([]string, 0, 4)
	for ; n != nil; n = n.before {
		texts = append(texts, n.String())
	}
	slices.Reverse(texts)
	return words.Join(texts...)
}

// bareName returns the name of a cell for people, without its kernel, for places where that is known; "" for none.
func bareName(w *window) string {
	if w == nil {
		return ""
	}
	return words.Cell(w.execution, w.count, w.silent)
}

// cellName returns the name of a cell for people, with its kernel; "" for none.
func cellName(w *window) string {
	if w == nil {
		return ""
	}
	return words.Cell(w.execution, w.count, w.silent) + words.OfKernel(w.process.kernel())
}

// frameOf returns a line of a cell as a frame.
func frameOf(cell *window, line int) model.Frame {
	f := model.Frame{Function: "<module>", File: cell.file, Line: cell.lineOf(line), Execution: cell.execution,
		Kernel: cell.process.kernel()}
	if cell.count >= 0 {
		count := cell.count
		f.ExecutionCount = &count
	}
	return f
}
