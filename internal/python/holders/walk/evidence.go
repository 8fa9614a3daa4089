package walk

import (
	"cmp"

	"ipytracer/internal/python/holders/objects"
)

// newCensus makes a census the visitor of a walker.
func newCensus(w *Walker, stood func() bool) *census {
	s := &census{
		Walker: w, stood: stood, guesses: map[uint64]*guess{}, unfilled: -1, notes: objects.NewNotes(w.Limits),
		isFrame: map[int32]bool{}, areas: map[uint64]*area{},
	}
	w.Addrs, w.Recent = s.notes.Addrs, &objects.RecentTypes{}
	w.moduleNames, w.metFrames = map[uint64]bool{}, map[uint64]bool{}
	w.VisitFor(s)
	return s
}

// takeCensus looks at all objects, and returns the uncertain words that are references.
func (s *census) takeCensus() map[wordKey]certainty {
	var region objects.Region
	defer region.Free()
	s.refs = objects.Room[int32](&region, s.Limits.MostNoted())
	collected := objects.Collect(s.Reader)
	modules := s.Modules()
	s.notes.Modules = modules
	if s.Sizes != nil {
		s.Sizes.NumPy = s.NumpyVersion(s.ModuleDict(modules, "numpy"))
	}
	Roots{s.Walker}.FollowAll(modules, false)
	s.surveyPending()
	s.surveyCollected(collected)
	s.findForeign()
	markHeldElsewhere(s)
	believed := map[wordKey]certainty{}
	for to, g := range s.guesses {
		s.weigh(believed, to, g)
	}
	s.refs = nil
	return believed
}

// surveyCollected looks at the objects that the garbage collector knows and nothing has led to, and notes the
// collector's knowledge of all objects.
func (s *census) surveyCollected(c *objects.Collected) {
	<-c.Done
	defer c.Region.Free()
	if !s.stood() {
		s.Mem.Forget()
	}
	s.Mem.Total += c.Read
	s.Stopped = cmp.Or(s.Stopped, c.Stopped)
	s.notes.Collector = c.Collector
	left, old, frozen := c.Objects[:0], c.Old, c.Frozen
	for i, obj := range c.Objects {
		old.Keep(i, len(left), &c.Old)
		frozen.Keep(i, len(left), &c.Frozen)
		if n, ok := s.Index.Get(obj, s.Addrs); ok {
			flags := objects.FlagOf(old, i, objects.NoteOld) | objects.FlagOf(frozen, i, objects.NoteFrozen)
			s.notes.Noted[n].What |= objects.NoteTracked | flags
		} else {
			left = append(left, obj)
		}
	}
	c.Old.To, c.Frozen.To = min(c.Old.To, len(left)), min(c.Frozen.To, len(left))
	// in the collector's order, the oldest first: an instance comes before its dict, and names the dict's contents
	for _, obj := range left {
		s.surveyObject(obj)
	}
	s.Run()
	s.surveyPending()
	for i, obj := range left {
		if n, ok := s.Index.Get(obj, s.Addrs); ok {
			flags := objects.FlagOf(c.Old, i, objects.NoteOld) | objects.FlagOf(c.Frozen, i, objects.NoteFrozen)
			s.notes.Noted[n].What |= objects.NoteTracked | flags
		}
	}
}

// surveyPending looks into the objects that only guesses led to.
func (s *census) surveyPending() {
	for len(s.pending) > 0 && !s.Done() {
		obj := s.pending[len(s.pending)-1]
		s.pending = s.pending[:len(s.pending)-1]
		s.surveyObject(obj)
		s.Run()
	}
}

// surveyObject makes a node of an object to which nothing certain leads.
func (s *census) surveyObject(obj uint64) {
	if _, ok := s.Known(obj); ok || s.Done() {
		return
	}
	if t := s.ObjectType(obj); t != nil && t.Shape != objects.ShapeLeaf {
		s.AddNew(-1, obj, Label{}, NodeObject)
	}
}

// weigh decides which of the words with the address of one object are references, as beliefs.go describes it.
func (s *census) weigh(believed map[wordKey]certainty, to uint64, g *guess) {
	unexplained := s.unexplained(to)
	if unexplained <= 0 {
		return
	}
	inObjects, sure := total(g.inObjects), certain
	if inObjects > unexplained {
		sure = probable
	}
	for from := range g.inObjects {
		believed[wordKey{from, to}] = sure
	}
	if inObjects >= unexplained {
		return
	}
	for from := range g.elsewhere {
		if key := (wordKey{from, to}); believed[key] == 0 {
			believed[key] = probable
		}
	}
}

// unexplained returns how many references to an object are not among the certain ones. It returns the whole reference
// count of an immortal object.
func (s *census) unexplained(to uint64) int64 {
	const immortal = 1 << 30
	n, ok := s.Known(to)
	if !ok {
		return s.References(to)
	}
	references := int64(s.notes.Noted[n].References)
	if int(n) >= len(s.refs) || references >= immortal {
		return references
	}
	return references - int64(s.refs[n])
}

// total returns the sum of the counts.
func total(counts map[uint64]int32) (sum int64) {
	for _, count := range counts {
		sum += int64(count)
	}
	return sum
}

// markHeldElsewhere marks the objects that have more references than a survey has found. An uncertain word counts as a
// found reference.
func markHeldElsewhere(s *census) {
	unfound := func(id int32) int64 {
		n := int64(s.notes.Noted[id].References)
		if int(id) < len(s.refs) {
			n -= int64(s.refs[id])
		}
		return n
	}
	for id := range s.notes.Noted {
		note := &s.notes.Noted[id]
		if !note.Is(objects.NoteLeaf) && note.TypeNumber() != 0 && unfound(int32(id)) > 0 {
			note.What |= objects.NoteElsewhere
		}
	}
	for to, g := range s.guesses {
		id, ok := s.Known(to)
		if ok && unfound(id) <= total(g.inObjects)+total(g.elsewhere) {
			s.notes.Noted[id].What &^= objects.NoteElsewhere
		}
	}
}
