package windows

import (
	"cmp"
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Note is a note of a window, linked to the notes before it. nil is no note. A Note never changes, so copies of a
// window share it.
type Note struct {
	words.Note
	before *Note
}

// NewNote returns a note without values and without others before it.
func NewNote(kind words.NoteKind) *Note { return &Note{Note: words.Note{Kind: kind}} }

// And returns the notes with next as the last one.
func (n *Note) And(next words.Note) *Note { return &Note{next, n} }

// Is reports whether the only note is of this kind.
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

// BareName returns the name of a cell for people without the name of its kernel; "" if w is nil.
func BareName(w *Window) string {
	if w == nil {
		return ""
	}
	return cmp.Or(w.Name, words.Cell(w.Execution, w.Count, w.Silent))
}

// CellName returns the name of a cell for people with the name of its kernel; "" if w is nil.
func CellName(w *Window) string {
	if w == nil {
		return ""
	}
	return BareName(w) + words.OfKernel(w.Process.Kernel())
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
