package attribution

import (
	"testing"

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
	p := tracker.processes.process(200, 200)
	archived := func(n *note) (text string, coded int) {
		w := &window{detail: &detail{}, kind: kindStatement, process: p, stretch: stretch{root: 200}, note: n}
		tracker.table.keep(w)
		tracker.table.put(w)
		slot := tracker.table.slots[w.slot-1]
		if slot.w != nil {
			t.Fatal("the window is not in the archive")
		}
		return tracker.table.at(w.slot - 1).note.text(), len(tracker.table.coded)
	}
	text, none := archived(nil)
	expect(t, "no note", text, "")
	var every, reversed *note
	all := notesOfAnyKind()
	for i, one := range all {
		every, reversed = every.and(one), reversed.and(all[len(all)-1-i])
		text, coded := archived((*note)(nil).and(one))
		expect(t, "one note", text, one.String())
		if coded-none >= len(text) {
			t.Errorf("%q takes %d bytes", text, coded-none)
		}
	}
	for _, several := range []*note{every, reversed, every.and(all[0]).and(all[0])} {
		text, _ := archived(several)
		expect(t, "several notes", text, several.text())
	}
}

// TestNotesAreShared: a copy of a window has the notes that the window had then. Each may get others.
func TestNotesAreShared(t *testing.T) {
	w := &window{note: alone(words.Late)}
	w.addNote(words.NoHooksEnd)
	one := *w
	w.addNote(words.Refused)
	one.addNote(words.EndRefused)
	both := words.Late.String() + "; " + words.NoHooksEnd.String() + "; "
	expect(t, "notes", []string{w.note.text(), one.note.text()},
		[]string{both + words.Refused.String(), both + words.EndRefused.String()})
}
