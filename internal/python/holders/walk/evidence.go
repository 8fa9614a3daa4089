package walk

import (
	"cmp"

	"ipytracer/internal/python/holders/objects"
)

// newCensus has a walker note everything.
func newCensus(w *Walker, stood func() bool) *census {
	s := &census{
		Walker: w, stood: stood, guesses: map[uint64]*guess{}, unfilled: -1, notes: objects.NewNotes(),
		isFrame: map[int32]bool{}, areas: map[uint64]*area{},
	}
	w.Addrs, w.Recent = s.notes.Addrs, &objects.RecentTypes{}
	w.named, w.metFrames = map[uint64]bool{}, map[uint64]bool{}
	w.VisitFor(s)
	return s
}

// evidence looks at all objects and finds which of the words that may be references are.
func (s *census) evidence() map[wordKey]certainty {
	var region objects.Region
	defer region.Free()
	s.refs = objects.Room[int32](&region, objects.RoomObjects)
	collected := objects.Collect(s.Reader)
	modules := s.Modules()
	s.notes.Modules = modules
	if s.Sizes != nil {
		s.Sizes.NumPy = s.NumpyVersion(s.ModuleDict(modules, "numpy"))
	}
	Roots{s.Walker}.Follows(modules, false)
	s.surveyPending()
	s.surveyCollected(collected)
	s.findForeign()
	noteHeld(s)
	believed := map[wordKey]certainty{}
	for to, g := range s.guesses {
		s.weigh(believed, to, g)
	}
	s.refs = nil
	return believed
}

// surveyCollected takes in the objects that the garbage collector knows and nothing has led to, and notes the
// collector's knowledge.
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
			s.notes.Noted[n].What |= objects.NoteTracked | objects.FlagOf(old, i,
				objects.NoteOld) | objects.FlagOf(frozen, i, objects.NoteFrozen)
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
			s.notes.Noted[n].What |= objects.NoteTracked | objects.FlagOf(c.Old, i,
				objects.NoteOld) | objects.FlagOf(c.Frozen, i, objects.NoteFrozen)
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

// weigh decides about the words that have the address of one object.
func (s *census) weigh(believed map[wordKey]certainty, to uint64, g *guess) {
	const immortal = 1 << 30
	left, inObjects := int64(0), int64(0)
	if n, ok := s.Known(to); !ok {
		left = s.References(to)
	} else if left = int64(s.notes.Noted[n].References); int(n) < len(s.refs) && left < immortal {
		left -= int64(s.refs[n])
	}
	for _, count := range g.inObjects {
		inObjects += int64(count)
	}
	if left <= 0 {
		return
	}
	is := certain
	if inObjects > left {
		is = probable
	}
	for from := range g.inObjects {
		believed[wordKey{from, to}] = is
	}
	if left -= inObjects; left <= 0 {
		return
	}
	for from := range g.elsewhere {
		if key := (wordKey{from, to}); believed[key] == 0 {
			believed[key] = probable
		}
	}
}

// noteHeld notes the objects that have more references than a survey has found. A word that may be a reference counts
// as a found one.
func noteHeld(s *census) {
	unfound := func(id int32) int64 {
		n := int64(s.notes.Noted[id].References)
		if int(id) < len(s.refs) {
			n -= int64(s.refs[id])
		}
		return n
	}
	for id := range s.notes.Noted {
		one := &s.notes.Noted[id]
		if !one.Is(objects.NoteLeaf) && one.TypeNumber() != 0 && unfound(int32(id)) > 0 {
			one.What |= objects.NoteElsewhere
		}
	}
	for to, g := range s.guesses {
		id, ok := s.Known(to)
		if !ok {
			continue
		}
		guessed := int64(0)
		for _, counts := range []map[uint64]int32{g.inObjects, g.elsewhere} {
			for _, count := range counts {
				guessed += int64(count)
			}
		}
		if unfound(id) <= guessed {
			s.notes.Noted[id].What &^= objects.NoteElsewhere
		}
	}
}
