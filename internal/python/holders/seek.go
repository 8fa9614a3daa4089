package holders

// seek looks for how an object refers to another.
type seek struct {
	*walker
	to    uint64
	label label
	found bool
	key   bool // a dict has it as a key
}

var _ visitor = (*seek)(nil)

func (s *seek) over() bool { return s.found }

func (s *seek) refer(_ int32, to uint64, kind step, l label) bool {
	if to != s.to || s.found {
		return kind != stepCounting
	}
	switch kind {
	case stepCounting:
		return false
	case stepWord:
		s.found = s.beliefs.isPlausible(to)
	case stepKey: // any other step has more meaning
		t := s.objectType(to)
		s.key = s.key || t != nil && t.shape != shapeLeaf
		return s.key
	default:
		s.found = true
	}
	if s.found {
		s.label, s.finished = l, true
	}
	return s.found
}

func (s *seek) count(from, to int32) {}

// add makes nodes that no search looks up.
func (s *seek) add(from int32, addr uint64, id int32, l label, what uint8) int32 {
	s.put(from, addr, id, l, what)
	return int32(len(s.nodes) - 1)
}

// labelOf returns the way in which a node is reached from its parent. Where that was left open the parent is looked
// into again.
func (p *paths) labelOf(n int32) label {
	l := p.labels[p.nodes[n].label]
	if l.kind != labelLater || p.nodes[n].parent < 0 {
		return l
	}
	l = labelBetween(p.walker, p.addrs[p.nodes[n].parent], p.addrs[n])
	p.nodes[n].label = p.keep(l)
	return l
}

// labelBetween returns the way in which an object refers to another, by looking into it anew.
func labelBetween(w *walker, from, to uint64) label {
	t := *w.types
	t.budget, t.recent, t.notes = w.budget.again(), nil, nil
	x := walkerOf(reader{&t}, newBlockTable(nil))
	x.sizes, x.types.classes, x.spaces, x.running = w.sizes, w.types.classes, w.spaces, w.running
	s := &seek{walker: x, to: to}
	x.visitFor(s)
	x.visit(x.addNew(-1, from, label{}, nodeObject))
	if s.key && !s.found {
		return label{labelElement, 0}
	}
	return s.label
}
