package walk

import (
	"ipytracer/internal/python/holders/objects"
)

// seek is a visitor that looks for the first reference to an object, and takes its label.
type seek struct {
	*Walker
	to    uint64
	label Label
	found bool
	key   bool // a dict has the object as a key
}

var _ Visitor = (*seek)(nil)

func (s *seek) Over() bool { return s.found }

func (s *seek) Refer(_ int32, to uint64, kind objects.Step, label Label) bool {
	if to != s.to || s.found {
		return kind != objects.StepCounting
	}
	switch kind {
	case objects.StepCounting:
		return false
	case objects.StepWord:
		s.found = s.IsPlausible(to)
	case objects.StepKey: // another reference says more, if there is one
		typ := s.ObjectType(to)
		s.key = s.key || typ != nil && typ.Shape != objects.ShapeLeaf
		return s.key
	default:
		s.found = true
	}
	if s.found {
		s.label, s.Finished = label, true
	}
	return s.found
}

func (s *seek) Count(from, to int32) {}

// Add makes nodes that no search looks up.
func (s *seek) Add(from int32, addr uint64, id int32, label Label, what uint8) int32 {
	s.Put(from, addr, id, label, what)
	return int32(len(s.Nodes) - 1)
}

// LabelBetween returns the label of a reference from one object to another, by looking into the first anew.
func LabelBetween(w *Walker, from, to uint64) Label {
	t := *w.Types
	t.Budget, t.Recent, t.Notes = w.Budget.Renewed(), nil, nil
	fresh := WalkerOf(objects.Reader{Types: &t}, NewBlockTable(nil))
	fresh.Sizes, fresh.Types.Classes, fresh.Spaces, fresh.Running = w.Sizes, w.Types.Classes, w.Spaces, w.Running
	s := &seek{Walker: fresh, to: to}
	fresh.VisitFor(s)
	fresh.Visit(fresh.AddNew(-1, from, Label{}, NodeObject))
	if s.key && !s.found {
		return Label{Kind: LabelElement, Arg: 0}
	}
	return s.label
}
