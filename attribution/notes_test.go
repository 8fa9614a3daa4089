package attribution

import (
	"testing"

	"ipytracer/attribution/internal/windows"
	"ipytracer/internal/words"
)

// notesOfAnyKind has a note of each kind, with values.
func notesOfAnyKind() (all []words.Note) {
	for kind := words.NoteKind(1); kind < words.NoteKinds; kind++ {
		all = append(all, words.Note{Kind: kind, Name: "a.ipynb", First: 3, Last: 1 << 40})
	}
	return all
}

// TestNotesInTheArchive: a window that comes from the archive has its notes in the same words, one or several of any
// kind. There they take less than their words.
func TestNotesInTheArchive(t *testing.T) {
	tracker := New()
	p := tracker.Processes.Process(200, 200)
	archived := func(n *windows.Note) (text string, coded int) {
		w := &windows.Window{Detail: &windows.Detail{}, Kind: windows.KindStatement, Process: p,
			Stretch: windows.Stretch{Root: 200}, Note: n}
		tracker.Table.Keep(w)
		tracker.Table.ArchiveWindow(w)
		slot := tracker.Table.Slots[w.Slot-1]
		if slot.W != nil {
			t.Fatal("the window is not in the archive")
		}
		return tracker.Table.At(w.Slot - 1).Note.Text(), len(tracker.Table.Coded)
	}
	text, none := archived(nil)
	expect(t, "no note", text, "")
	var every, reversed *windows.Note
	all := notesOfAnyKind()
	for i, one := range all {
		every, reversed = every.And(one), reversed.And(all[len(all)-1-i])
		text, coded := archived((*windows.Note)(nil).And(one))
		expect(t, "one note", text, one.String())
		if coded-none >= len(text) {
			t.Errorf("%q takes %d bytes", text, coded-none)
		}
	}
	for _, several := range []*windows.Note{every, reversed, every.And(all[0]).And(all[0])} {
		text, _ := archived(several)
		expect(t, "several notes", text, several.Text())
	}
}

// TestNotesAreShared: a copy of a window has the notes that the window had then. Each may get others.
func TestNotesAreShared(t *testing.T) {
	w := &windows.Window{Note: windows.NewNote(words.Late)}
	w.AddNote(words.NoHooksEnd)
	one := *w
	w.AddNote(words.Refused)
	one.AddNote(words.EndRefused)
	both := words.Late.String() + "; " + words.NoHooksEnd.String() + "; "
	expect(t, "notes", []string{w.Note.Text(), one.Note.Text()},
		[]string{both + words.Refused.String(), both + words.EndRefused.String()})
}
