package walk

import (
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

var (
	_ Visitor    = (*census)(nil)
	_ ArrayTaker = (*census)(nil)
	_ recorder   = (*census)(nil)
	_ gatherer   = (*census)(nil)
)

func (s *census) Over() bool { return false }

// Refer notes a reference. A word that may be a reference is judged by its target. Words that cannot be addresses of
// objects are noted raw: they may be addresses of blocks.
func (s *census) Refer(_ int32, to uint64, kind objects.Step, _ Label) bool {
	switch {
	case kind == objects.StepFollow:
		if s.Done() || to&7 != 0 {
			return false
		}
		s.noteReference(to, kind, 0)
	case kind != objects.StepWord:
		s.noteReference(to, kind, 0)
	case to&7 == 0:
		s.noteReference(to, kind, aheadGuess)
	case s.recording && to < objects.UserSpace:
		s.noteRaw(to)
	}
	return true
}

// Count counts a certain reference to a node, unless it has been counted.
func (s *census) Count(_, n int32) {
	if !s.Uncounted {
		s.addReference(n)
	}
}

// step notes a step that is not about an object.
func (s *census) step(kind objects.Step) {
	if s.recording {
		s.notes.Steps = append(s.notes.Steps, kind)
	}
}

// beginPart notes a StepOnce, in which [census.part] fills in the number of the dict: the dict may have none yet.
func (s *census) beginPart() {
	if s.recording {
		s.unfilled = int32(len(s.notes.Steps))
		s.notes.Steps = append(s.notes.Steps, objects.StepOnce)
	}
}

// part notes a part of the object, and fills in the step that waits for its number.
func (s *census) part(n int32) {
	if !s.recording || n < 0 {
		return
	}
	if s.unfilled >= 0 {
		s.notes.Steps[s.unfilled] |= objects.Step(n)
		s.unfilled = -1
	}
	s.notes.Steps = append(s.notes.Steps, objects.StepPart|objects.Step(n))
}

func (s *census) isFrameNode(n int32) bool { return s.isFrame[n] }

// Add makes a node.
func (s *census) Add(_ int32, addr uint64, _ int32, _ Label, what uint8) int32 {
	n := int32(len(s.Addrs))
	if int(n) >= s.Limits.MostNoted() {
		s.Stopped = objects.ErrObjects
		return -1
	}
	s.Addrs = append(s.Addrs, addr)
	s.Index.Put(addr, n, s.Addrs)
	s.noteNode(n, what)
	return n
}

// visitQueue looks into every node that waits, and into those that are reached from there.
func (s *census) visitQueue() {
	s.visitAreas()
	for len(s.waiting) > 0 && !s.Done() {
		n := s.waiting[len(s.waiting)-1]
		s.waiting = s.waiting[:len(s.waiting)-1]
		s.Visit(n)
		s.visitAreas()
	}
}

// noteNode makes the note of a new node.
func (s *census) noteNode(n int32, what uint8) {
	note := objects.Note{First: objects.Unnoted}
	if what != NodePart {
		s.waiting = append(s.waiting, n)
	}
	if what == NodeFrame {
		s.isFrame[n] = true
	} else if t := s.ObjectType(s.Addrs[n]); t != nil {
		before := s.recording
		s.recording = false
		note = s.describeNode(s.Addrs[n], t, n)
		s.recording = before
	}
	s.notes.Noted = append(s.notes.Noted, note)
}

// describeNode returns the note of an object: all but its steps.
func (s *census) describeNode(addr uint64, t *objects.Type, n int32) objects.Note {
	notes := s.notes
	if t.Number == 0 {
		t.Number = uint32(len(notes.Types))
		notes.Types = append(notes.Types, t)
	}
	note := objects.Note{References: uint32(s.References(addr)), What: t.Number, First: objects.Unnoted}
	if t.Shape == objects.ShapeLeaf {
		note.What |= objects.NoteLeaf
	} else if t.Shape == objects.ShapeType || t.Shape == objects.ShapeFunction || t.Name == objects.LruCache {
		if s.LeadsOut(addr, t) {
			note.What |= objects.NoteOut
		}
	}
	if s.Sizes != nil {
		bytes, known := s.Measure(addr, t)
		if note.Bytes = uint32(bytes); bytes >= objects.TooLarge {
			note.Bytes, notes.Large[n] = objects.TooLarge, bytes
		}
		if !known {
			note.What |= objects.NoteUnknown
		}
	}
	return note
}

// isLarge reports whether an object has so many references that each walk reads them itself. Notes of the references of
// a list of millions of strings would take more memory than all other notes.
func (s *census) isLarge(addr uint64, t *objects.Type) bool {
	switch t.Shape {
	case objects.ShapeList:
		return s.Mem.Word(addr+uint64(s.Heap.ListSize)) > many
	case objects.ShapeTuple:
		return s.Mem.Word(addr+uint64(s.Heap.VarSize)) > many
	case objects.ShapeDict:
		return s.Mem.Word(addr+dictUsed) > many
	case objects.ShapeSet:
		return s.Mem.Word(addr+cpython.SetMask) > many
	case objects.ShapeArray:
		hasManyRecords := s.ArrayElements(addr) > many && len(objects.RecordsOf(&s.Sizer, addr).Fields) > 0
		return s.ArrayObjects(addr) > many || hasManyRecords
	}
	return false
}

// record visits a node. It notes the steps of the visit, unless they have been noted, are too many, or cannot be noted.
func (s *census) record(n int32, visit func()) {
	note, t := &s.notes.Noted[n], s.notes.TypeOf(n)
	if t == nil || note.First != objects.Unnoted || !t.Recordable() {
		visit()
		return
	}
	if s.large = s.isLarge(s.Addrs[n], t); s.large {
		visit()
		s.large = false
		return
	}
	note.First = uint32(len(s.notes.Steps))
	s.recording = true
	visit()
	s.recording = false
	s.notes.Steps = append(s.notes.Steps, objects.StepStop)
}

// Array notes an array that is looked into.
func (s *census) Array(_ int32, addr, data uint64) {
	if !s.recording {
		return
	}
	s.notes.Steps = append(s.notes.Steps, objects.StepArray|objects.Step(len(s.notes.Arrays)))
	s.notes.Arrays = append(s.notes.Arrays, objects.ArrayNote{Data: data, Span: s.OwnSpan(addr)})
}

// ArrayNoted does nothing: a survey has no notes of another.
func (s *census) ArrayNoted(int32, objects.ArrayNote) {}

func (s *census) ReadsArrays() bool { return false }
