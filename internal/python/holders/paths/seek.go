package paths

import (
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// seek looks for how an object refers to another.
type seek struct {
	*walk.Walker
	to    uint64
	label walk.Label
	found bool
	key   bool // a dict has it as a key
}

var _ walk.Visitor = (*seek)(nil)

func (s *seek) Over() bool { return s.found }

func (s *seek) Refer(_ int32, to uint64, kind objects.Step, label walk.Label) bool {
	if to != s.to || s.found {
		return kind != objects.StepCounting
	}
	switch kind {
	case objects.StepCounting:
		return false
	case objects.StepWord:
		s.found = s.IsPlausible(to)
	case objects.StepKey: // any other step has more meaning
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
func (s *seek) Add(from int32, addr uint64, id int32, label walk.Label, what uint8) int32 {
	s.Put(from, addr, id, label, what)
	return int32(len(s.Nodes) - 1)
}

// LabelBetween returns the way in which an object refers to another, by looking into it anew.
func LabelBetween(w *walk.Walker, from, to uint64) walk.Label {
	t := *w.Types
	t.Budget, t.Recent, t.Notes = w.Budget.Renewed(), nil, nil
	x := walk.WalkerOf(objects.Reader{Types: &t}, walk.NewBlockTable(nil))
	x.Sizes, x.Types.Classes, x.Spaces, x.Running = w.Sizes, w.Types.Classes, w.Spaces, w.Running
	s := &seek{Walker: x, to: to}
	x.VisitFor(s)
	x.Visit(x.AddNew(-1, from, walk.Label{}, walk.NodeObject))
	if s.key && !s.found {
		return walk.Label{Kind: walk.LabelElement, Arg: 0}
	}
	return s.label
}
