package walk

import (
	"cmp"

	"ipytracer/internal/python/holders/objects"
)

// For a foreign type made in C nothing shows which of its words are references: one may be borrowed, or be an older
// value of that memory. Reference counts decide. A survey looks at every object there is, reachable or not, and counts
// the certain references to each: those that built-in types, slots, arrays and frames hold. If an object's reference
// count is no higher, no other word that has its address is a reference. If it is higher by at least as many as there
// are such words in objects, all of these are. Otherwise some of them are: they hold their objects probably. Words of
// memory that objects refer to, without even a known type, come after those and are never certain. Probable references
// are followed last of all.

// WordKey is a word that may be a reference: its place, the address of an object or 0, and its target.
type WordKey struct{ from, to uint64 }

// Certainty is the knowledge about a word that may be a reference.
type Certainty uint8

const (
	probable Certainty = iota + 1
	certain
)

// Census counts references.
type Census struct {
	*Walker
	refs    []int32 // to each node, that are certain
	guesses map[uint64]*guess
	pending []uint64 // objects that only guesses led to

	Stood     func() bool    // whether the process has hardly run
	Notes     *objects.Notes // that are made; the walker itself has none
	large     bool           // the object that is looked into has too many references to note them
	recording bool           // the steps that are taken
	once      int32          // the step with an object that is not known yet, -1 for none
	waiting   []int32        // nodes that are to be looked into
	isFrame   map[int32]bool
	areas     map[uint64]*area // objects that are to be looked at, by their place
	active    []*area
	last      *area
	batch     [maxBatch]ahead
	pages     []uint64 // that a batch needs
}

func (s *Census) Over() bool { return false }

// Refer takes a reference in. A word counts as one if it looks like one, or else may be the address of a block.
func (s *Census) Refer(_ int32, to uint64, kind objects.Step, _ Label) bool {
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
		s.raw(to)
	}
	return true
}

// Count counts a reference that is certain.
func (s *Census) Count(_, n int32) {
	if !s.Uncounted {
		s.counts(n)
	}
}

func (s *Census) step(kind objects.Step) {
	if s.recording {
		s.Notes.Steps = append(s.Notes.Steps, kind)
	}
}

func (s *Census) begin() {
	if s.recording {
		s.once = int32(len(s.Notes.Steps))
		s.Notes.Steps = append(s.Notes.Steps, objects.StepOnce)
	}
}

func (s *Census) part(n int32) {
	if !s.recording || n < 0 {
		return
	}
	if s.once >= 0 {
		s.Notes.Steps[s.once] |= objects.Step(n)
		s.once = -1
	}
	s.Notes.Steps = append(s.Notes.Steps, objects.StepPart|objects.Step(n))
}

func (s *Census) isFrameNode(n int32) bool { return s.isFrame[n] }

// guess has the words with the address of an object.
type guess struct {
	inObjects, elsewhere map[uint64]int32 // by the object that has them: how many
}

// counts counts a reference.
func (s *Census) counts(n int32) {
	if n < 0 {
		return
	}
	for len(s.refs) <= int(n) {
		s.refs = append(s.refs, 0)
	}
	s.refs[n]++
}

// guessed notes a word that may be a reference, to be judged later.
func (s *Census) guessed(key WordKey, inObject bool) {
	g := s.guesses[key.to]
	if g == nil {
		if len(s.guesses) >= s.Limits.Objects {
			s.Stopped = objects.ErrObjects
			return
		}
		g = &guess{}
		s.guesses[key.to] = g
		s.pending = append(s.pending, key.to)
	}
	of := &g.elsewhere
	if inObject {
		of = &g.inObjects
	}
	if *of == nil {
		*of = map[uint64]int32{}
	}
	(*of)[key.from]++
}

// NewCensus has a walker note everything.
func NewCensus(w *Walker) *Census {
	s := &Census{
		Walker: w, guesses: map[uint64]*guess{}, once: -1, Notes: objects.NewNotes(), isFrame: map[int32]bool{},
		areas: map[uint64]*area{},
	}
	w.Addrs, w.Recent, w.named, w.Frames.met = s.Notes.Addrs, &objects.RecentTypes{}, map[uint64]bool{},
		map[uint64]bool{}
	w.VisitFor(s)
	return s
}

// Evidence looks at all objects and finds which of the words that may be references are.
func (s *Census) Evidence() map[WordKey]Certainty {
	var region objects.Region
	defer region.Free()
	s.refs = objects.Room[int32](&region, objects.RoomObjects)
	collected := objects.Collect(s.Reader)
	modules := s.Modules()
	s.Notes.Modules = modules
	if s.Sizes != nil {
		s.Sizes.NumPy = s.NumpyVersion(s.ModuleDict(modules, "numpy"))
	}
	Roots{s.Walker}.Follows(modules, false)
	s.surveyPending()
	s.surveyCollected(collected)
	s.findForeign()
	noteHeld(s)
	believed := map[WordKey]Certainty{}
	for to, g := range s.guesses {
		s.weigh(believed, to, g)
	}
	s.refs = nil
	return believed
}

// surveyCollected takes in the objects that the garbage collector knows and nothing has led to, and notes the
// collector's knowledge.
func (s *Census) surveyCollected(c *objects.Collected) {
	<-c.Done
	defer c.Region.Free()
	if !s.Stood() {
		s.Mem.Forget()
	}
	s.Mem.Total += c.Read
	s.Stopped = cmp.Or(s.Stopped, c.Stopped)
	s.Notes.Collector = c.Collector
	left, old, frozen := c.Objects[:0], c.Old, c.Frozen
	for i, obj := range c.Objects {
		old.Keep(i, len(left), &c.Old)
		frozen.Keep(i, len(left), &c.Frozen)
		if n, ok := s.Index.Get(obj, s.Addrs); ok {
			s.Notes.Noted[n].What |= objects.NoteTracked | objects.FlagOf(old, i,
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
			s.Notes.Noted[n].What |= objects.NoteTracked | objects.FlagOf(c.Old, i,
				objects.NoteOld) | objects.FlagOf(c.Frozen, i, objects.NoteFrozen)
		}
	}
}

// surveyPending looks into the objects that only guesses led to.
func (s *Census) surveyPending() {
	for len(s.pending) > 0 && !s.Done() {
		obj := s.pending[len(s.pending)-1]
		s.pending = s.pending[:len(s.pending)-1]
		s.surveyObject(obj)
		s.Run()
	}
}

// surveyObject takes an object to which nothing certain leads.
func (s *Census) surveyObject(obj uint64) {
	if _, ok := s.Known(obj); ok || s.Done() {
		return
	}
	if t := s.ObjectType(obj); t != nil && t.Shape != objects.ShapeLeaf {
		s.AddNew(-1, obj, Label{}, NodeObject)
	}
}

// weigh decides about the words that have the address of one object.
func (s *Census) weigh(believed map[WordKey]Certainty, to uint64, g *guess) {
	const immortal = 1 << 30
	left, inObjects := int64(0), int64(0)
	if n, ok := s.Known(to); !ok {
		left = s.References(to)
	} else if left = int64(s.Notes.Noted[n].References); int(n) < len(s.refs) && left < immortal {
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
		believed[WordKey{from, to}] = is
	}
	if left -= inObjects; left <= 0 {
		return
	}
	for from := range g.elsewhere {
		if key := (WordKey{from, to}); believed[key] == 0 {
			believed[key] = probable
		}
	}
}
