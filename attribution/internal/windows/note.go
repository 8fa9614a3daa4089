package windows

import (
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Note is a note of a window, after those before it. It never changes, so that copies of a window share it. nil is
// none.
type Note struct {
	words.Note
	before *Note
}

// NewNote returns a note without values and without others before it.
func NewNote(kind words.NoteKind) *Note { return &Note{Note: words.Note{Kind: kind}} }

// And returns the notes with one more.
func (n *Note) And(next words.Note) *Note { return &Note{next, n} }

// Is reports whether a kind is all that is noted.
func (n *Note) Is(kind words.NoteKind) bool { return n != nil && n.before == nil && n.Kind == kind }

// Text returns the notes in the words of a report.
func (n *Note) Text() string {
	texts := make([]string, 0, 4)
	for ; n != nil; n = n.before {
		texts = append(texts, n.String())
	}
	slices.Reverse(texts)
	return words.Join(texts...)
}

// BareName returns the name of a cell for people, without its kernel, for places where that is known; "" for none.
func BareName(w *Window) string {
	if w == nil {
		return ""
	}
	return words.Cell(w.Execution, w.Count, w.Silent)
}

// CellName returns the name of a cell for people, with its kernel; "" for none.
func CellName(w *Window) string {
	if w == nil {
		return ""
	}
	return words.Cell(w.Execution, w.Count, w.Silent) + words.OfKernel(w.Process.Kernel())
}

// FrameOf returns a line of a cell as a frame.
func FrameOf(cell *Window, line int) model.Frame {
	f := model.Frame{Function: "<module>", File: cell.File, Line: cell.LineOf(line), Execution: cell.Execution,
		Kernel: cell.Process.Kernel()}
	if cell.Count >= 0 {
		count := cell.Count
		f.ExecutionCount = &count
	}
	return f
}
