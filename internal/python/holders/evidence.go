package holders

import "cmp"

// For a foreign type made in C nothing shows which of its words are references: one may be borrowed, or be an older
// value of that memory. Reference counts decide. A survey looks at every object there is, reachable or not, and counts
// the certain references to each: those that built-in types, slots, arrays and frames hold. If an object's reference
// count is no higher, no other word that has its address is a reference. If it is higher by at least as many as there
// are such words in objects, all of these are. Otherwise some of them are: they hold their objects probably. Words of
// memory that objects refer to, without even a known type, come after those and are never certain. Probable references
// are followed last of all.

// guessKey is a word that may be a reference: its place, the address of an object or 0, and its target.
type guessKey struct{ from, to uint64 }

// sure is the knowledge about a word that may be a reference.
type sure uint8

const (
	isProbable sure = iota + 1
	isCertain
)

// survey counts references.
type survey struct {
	*walker
	refs    []int32 // to each node, that are certain
	guesses map[uint64]*guess
	pending []uint64 // objects that only guesses led to

	stood     func() bool // whether the process has hardly run
	notes     *notes      // that are made; the walker itself has none
	large     bool        // the object that is looked into has too many references to note them
	recording bool        // the steps that are taken
	once      int32       // the step with an object that is not known yet, -1 for none
	waiting   []int32     // nodes that are to be looked into
	isFrame   map[int32]bool
	areas     map[uint64]*area // objects that are to be looked at, by their place
	active    []*area
	last      *area
	batch     [maxBatch]ahead
	pages     []uint64 // that a batch needs
}

func (s *survey) over() bool { return false }

// refer takes a reference in. A word counts as one if it looks like one, or else may be the address of a block.
func (s *survey) refer(_ int32, to uint64, kind step, _ label) bool {
	switch {
	case kind == stepFollow:
		if s.done() || to&7 != 0 {
			return false
		}
		s.take(to, kind, 0)
	case kind != stepWord:
		s.take(to, kind, 0)
	case to&7 == 0:
		s.take(to, kind, aheadGuess)
	case s.recording && to < userSpace:
		s.raw(to)
	}
	return true
}

// count counts a reference that is certain.
func (s *survey) count(_, n int32) {
	if !s.uncounted {
		s.counts(n)
	}
}

func (s *survey) step(kind step) {
	if s.recording {
		s.notes.steps = append(s.notes.steps, kind)
	}
}

func (s *survey) begin() {
	if s.recording {
		s.once = int32(len(s.notes.steps))
		s.notes.steps = append(s.notes.steps, stepOnce)
	}
}

func (s *survey) part(n int32) {
	if !s.recording || n < 0 {
		return
	}
	if s.once >= 0 {
		s.notes.steps[s.once] |= step(n)
		s.once = -1
	}
	s.notes.steps = append(s.notes.steps, stepPart|step(n))
}

func (s *survey) isFrameNode(n int32) bool { return s.isFrame[n] }

// guess has the words with the address of an object.
type guess struct {
	inObjects, elsewhere map[uint64]int32 // by the object that has them: how many
}

// counts counts a reference.
func (s *survey) counts(n int32) {
	if n < 0 {
		return
	}
	for len(s.refs) <= int(n) {
		s.refs = append(s.refs, 0)
	}
	s.refs[n]++
}

// guessed notes a word that may be a reference, to be judged later.
func (s *survey) guessed(key guessKey, inObject bool) {
	g := s.guesses[key.to]
	if g == nil {
		if len(s.guesses) >= s.limits.Objects {
			s.stopped = errObjects
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

// newSurveyOf has a walker note everything.
func newSurveyOf(w *walker) *survey {
	s := &survey{
		walker: w, guesses: map[uint64]*guess{}, once: -1, notes: newNotes(), isFrame: map[int32]bool{},
		areas: map[uint64]*area{},
	}
	w.addrs, w.recent, w.named, w.frames.met = s.notes.addrs, &recentTypes{}, map[uint64]bool{}, map[uint64]bool{}
	w.visitFor(s)
	return s
}

// evidence looks at all objects and finds which of the words that may be references are.
func (s *survey) evidence() map[guessKey]sure {
	s.refs, s.notes.regions[3] = newRegion[int32](roomObjects)
	collected := collect(s.reader)
	modules := s.modules()
	s.notes.modules = modules
	if s.sizes != nil {
		s.sizes.numpy = s.numpyVersion(s.moduleDict(modules, "numpy"))
	}
	roots{s.walker}.follows(modules, false)
	s.surveyPending()
	s.surveyCollected(collected)
	s.findForeign()
	noteHeld(s)
	believed := map[guessKey]sure{}
	for to, g := range s.guesses {
		s.weigh(believed, to, g)
	}
	s.refs = nil
	s.notes.regions[3].free()
	return believed
}

// surveyCollected takes in the objects that the garbage collector knows and nothing has led to, and notes the
// collector's knowledge.
func (s *survey) surveyCollected(c *collected) {
	<-c.done
	defer c.region.free()
	if !s.stood() {
		s.mem.forget()
	}
	s.mem.total += c.read
	s.stopped = cmp.Or(s.stopped, c.stopped)
	s.notes.collector = c.collector
	left, old, frozen := c.objects[:0], c.old, c.frozen
	for i, obj := range c.objects {
		old.keep(i, len(left), &c.old)
		frozen.keep(i, len(left), &c.frozen)
		if n, ok := s.index.get(obj, s.addrs); ok {
			s.notes.noted[n].what |= noteTracked | flagOf(old, i, noteOld) | flagOf(frozen, i, noteFrozen)
		} else {
			left = append(left, obj)
		}
	}
	c.old.to, c.frozen.to = min(c.old.to, len(left)), min(c.frozen.to, len(left))
	// in the collector's order, the oldest first: an instance comes before its dict, and names the dict's contents
	for _, obj := range left {
		s.surveyObject(obj)
	}
	s.run()
	s.surveyPending()
	for i, obj := range left {
		if n, ok := s.index.get(obj, s.addrs); ok {
			s.notes.noted[n].what |= noteTracked | flagOf(c.old, i, noteOld) | flagOf(c.frozen, i, noteFrozen)
		}
	}
}

// surveyPending looks into the objects that only guesses led to.
func (s *survey) surveyPending() {
	for len(s.pending) > 0 && !s.done() {
		obj := s.pending[len(s.pending)-1]
		s.pending = s.pending[:len(s.pending)-1]
		s.surveyObject(obj)
		s.run()
	}
}

// surveyObject takes an object to which nothing certain leads.
func (s *survey) surveyObject(obj uint64) {
	if _, ok := s.known(obj); ok || s.done() {
		return
	}
	if t := s.objectType(obj); t != nil && t.shape != shapeLeaf {
		s.addNew(-1, obj, label{}, nodeObject)
	}
}

// weigh decides about the words that have the address of one object.
func (s *survey) weigh(believed map[guessKey]sure, to uint64, g *guess) {
	const immortal = 1 << 30
	left, inObjects := int64(0), int64(0)
	if n, ok := s.known(to); !ok {
		left = s.references(to)
	} else if left = int64(s.notes.noted[n].references); int(n) < len(s.refs) && left < immortal {
		left -= int64(s.refs[n])
	}
	for _, count := range g.inObjects {
		inObjects += int64(count)
	}
	if left <= 0 {
		return
	}
	is := isCertain
	if inObjects > left {
		is = isProbable
	}
	for from := range g.inObjects {
		believed[guessKey{from, to}] = is
	}
	if left -= inObjects; left <= 0 {
		return
	}
	for from := range g.elsewhere {
		if key := (guessKey{from, to}); believed[key] == 0 {
			believed[key] = isProbable
		}
	}
}
