package holders

import "cmp"

// Of a type made in C by somebody else nothing tells which of its words are references: one may be borrowed, or be what lay in
// that memory before. Reference counts decide. A survey looks at every object there is, reachable or not, and counts the
// references to each that are certain: what built-in types, slots, arrays and frames hold. If an object's reference count is no
// higher, no other word that has its address is a reference. If it is higher by at least as many as there are such words in
// objects, all of these are. Otherwise some of them are: what they hold is said to be so probably. Words of memory that objects
// refer to, of which not even the type is known, come after those and are never certain. What is probable is followed last of all.

// guessKey is a word that may be a reference: where it is, the address of an object or 0, and where it leads.
type guessKey struct{ from, to uint64 }

// sure says what is known of a word that may be a reference.
type sure uint8

const (
	isProbable sure = iota + 1
	isCertain
)

// survey counts references.
type survey struct {
	refs    []int32 // to each node, that are certain
	guesses map[uint64]*guess
	frames  map[uint64]bool // that were looked into
	pending []uint64        // objects that only guesses led to

	notes     *notes
	large     bool    // the object that is looked into has too many references to note them
	recording bool    // the steps that are taken
	once      int32   // the step whose object is not known yet, -1 for none
	waiting   []int32 // nodes that are to be looked into
	isFrame   map[int32]bool
	areas     map[uint64]*area // what is to be looked at, by where it is
	active    []*area
	last      *area
	batch     [maxBatch]ahead
	pages     []uint64 // that a batch needs
}

// step notes a step that is not about an object. A nil survey does nothing.
func (s *survey) step(kind step) {
	if s != nil && s.recording {
		s.notes.steps = append(s.notes.steps, kind)
	}
}

// begin notes that what follows is of a dict that will be known as a part of the object.
func (s *survey) begin() {
	if s != nil && s.recording {
		s.once = int32(len(s.notes.steps))
		s.notes.steps = append(s.notes.steps, stepOnce)
	}
}

// part notes a part of the object that is looked into.
func (s *survey) part(n int32) {
	if s == nil || !s.recording || n < 0 {
		return
	}
	if s.once >= 0 {
		s.notes.steps[s.once] |= step(n)
		s.once = -1
	}
	s.notes.steps = append(s.notes.steps, stepPart|step(n))
}

// guess is what words have the address of an object.
type guess struct {
	inObjects, elsewhere map[uint64]int32 // by the object that has them: how many
}

// reference counts one. A nil survey does nothing.
func (s *survey) reference(n int32) {
	if s == nil || n < 0 {
		return
	}
	for len(s.refs) <= int(n) {
		s.refs = append(s.refs, 0)
	}
	s.refs[n]++
}

// isNew says whether a frame has not been looked into; for a nil survey each is new.
func (s *survey) isNew(frame uint64) bool {
	if s == nil {
		return true
	}
	if s.frames[frame] {
		return false
	}
	s.frames[frame] = true
	return true
}

// maybeFollow takes a word that may be a reference: inObject if it is the object's own, else it is in memory that the object
// refers to. It says whether the word could be one.
func (w *walker) maybeFollow(from int32, to uint64, l label, inObject bool) bool {
	if !w.isPlausible(to) {
		return false
	}
	key := keyOf(w.addrs, from, to)
	if w.survey != nil {
		w.guessed(key, inObject)
		return true
	}
	switch w.believed[key] {
	case isCertain:
		w.follow(from, to, l)
	case isProbable:
		if len(w.doubts) < w.limits.Objects {
			w.doubts = append(w.doubts, edge{to, l, from, w.kind})
		} else {
			w.stopped = errObjects
		}
	}
	return true
}

// followBelieved is maybeFollow where nobody asks whether the word could be a reference: of most it is known that they are none, and what they
// lead to need not be looked at.
func (w *walker) followBelieved(from int32, to uint64, l label, inObject bool) {
	if w.survey != nil || w.believed[keyOf(w.addrs, from, to)] != 0 {
		w.maybeFollow(from, to, l, inObject)
	}
}

// keyOf is the key of a word of a node, by the nodes' addresses; -1 for one of no node.
func keyOf(addrs []uint64, from int32, to uint64) guessKey {
	if from < 0 {
		return guessKey{to: to}
	}
	return guessKey{addrs[from], to}
}

// followDoubts follows the words that are references only probably, once everything has been reached that certain ones lead to: a word that a
// variable may have must not hide who has the object for sure.
func (w *walker) followDoubts() {
	for i := 0; i < len(w.doubts) && !w.done(); i++ { // it grows on the way
		e := w.doubts[i]
		if _, reached := w.known(e.to); reached && w.extents == nil {
			continue
		}
		known := len(w.nodes)
		w.kind = e.kind
		w.follow(e.parent, e.to, e.label)
		if len(w.nodes) > known {
			w.nodes[known].probable = true
		}
		w.run()
	}
	w.doubts = nil
}

// guessed notes a word of which it is to be found out whether it is a reference.
func (w *walker) guessed(key guessKey, inObject bool) {
	s := w.survey
	g := s.guesses[key.to]
	if g == nil {
		if len(s.guesses) >= w.limits.Objects {
			w.stopped = errObjects
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

// evidence looks at all objects and says which of the words that may be references are.
func (w *walker) evidence() map[guessKey]sure {
	w.survey = &survey{guesses: map[uint64]*guess{}, frames: map[uint64]bool{}, once: -1, notes: newNotes(), isFrame: map[int32]bool{}, areas: map[uint64]*area{}}
	w.addrs, w.recent = w.survey.notes.addrs, &recentTypes{}
	w.survey.refs, w.survey.notes.regions[3] = newRegion[int32](roomObjects)
	collected := w.collect()
	w.walk()
	w.surveyPending()
	w.surveyCollected(collected)
	noteHeld(w)
	believed := map[guessKey]sure{}
	for to, g := range w.survey.guesses {
		w.weigh(believed, to, g)
	}
	w.survey.refs = nil
	w.survey.notes.regions[3].free()
	return believed
}

// surveyCollected takes in what the garbage collector knows and nothing has led to, and notes what it knows.
func (w *walker) surveyCollected(c *collected) {
	<-c.done
	defer c.region.free()
	if !w.stood() {
		w.mem.forget()
	}
	w.mem.total += c.read
	w.stopped = cmp.Or(w.stopped, c.stopped)
	w.survey.notes.collector = c.collector
	left, old, frozen := c.objects[:0], c.old, c.frozen
	for i, obj := range c.objects {
		old.keep(i, len(left), &c.old)
		frozen.keep(i, len(left), &c.frozen)
		if n, ok := w.index.get(obj, w.addrs); ok {
			w.survey.notes.noted[n].what |= noteTracked | flagOf(old, i, noteOld) | flagOf(frozen, i, noteFrozen)
		} else {
			left = append(left, obj)
		}
	}
	c.old.to, c.frozen.to = min(c.old.to, len(left)), min(c.frozen.to, len(left))
	for _, obj := range left { // in the collector's order, the oldest first: an instance comes before its dict, and names what that has
		w.surveyObject(obj)
	}
	w.run()
	w.surveyPending()
	for i, obj := range left {
		if n, ok := w.index.get(obj, w.addrs); ok {
			w.survey.notes.noted[n].what |= noteTracked | flagOf(c.old, i, noteOld) | flagOf(c.frozen, i, noteFrozen)
		}
	}
}

// surveyPending looks into the objects that only guesses led to.
func (w *walker) surveyPending() {
	s := w.survey
	for len(s.pending) > 0 && !w.done() {
		obj := s.pending[len(s.pending)-1]
		s.pending = s.pending[:len(s.pending)-1]
		w.surveyObject(obj)
		w.run()
	}
}

// surveyObject takes an object to which nothing certain leads.
func (w *walker) surveyObject(obj uint64) {
	if _, ok := w.known(obj); ok || w.done() {
		return
	}
	if t := w.objectType(obj); t != nil && t.shape != shapeLeaf {
		w.add(-1, obj, label{}, isObject)
	}
}

// weigh decides about the words that have the address of one object.
func (w *walker) weigh(believed map[guessKey]sure, to uint64, g *guess) {
	const immortal = 1 << 30
	left, inObjects := int64(0), int64(0)
	if n, ok := w.known(to); !ok {
		left = w.references(to)
	} else if left = int64(w.survey.notes.noted[n].references); int(n) < len(w.survey.refs) && left < immortal {
		left -= int64(w.survey.refs[n])
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
