package holders

// Of a type made in C by somebody else nothing tells which of its words are references: one may be borrowed, or be what lay in
// that memory before. Reference counts decide. A survey looks at every object there is, reachable or not, and counts the
// references to each that are certain: what built-in types, slots, arrays and frames hold. If an object's reference count is no
// higher, no other word that has its address is a reference. If it is higher by at least as many as there are such words in
// objects, all of these are. Otherwise some of them are: what they hold is said to be so probably. Words of memory that objects
// refer to, of which not even the type is known, come after those and are never certain.

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
	key := guessKey{to: to}
	if from >= 0 {
		key.from = w.nodes[from].addr
	}
	if w.survey != nil {
		w.guessed(key, inObject)
		return true
	}
	is := w.believed[key]
	if is == 0 {
		return true
	}
	known := len(w.nodes)
	w.follow(from, to, l)
	if len(w.nodes) > known && is == isProbable {
		w.nodes[known].probable = true
	}
	return true
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
		g = &guess{map[uint64]int32{}, map[uint64]int32{}}
		s.guesses[key.to] = g
		s.pending = append(s.pending, key.to)
	}
	if inObject {
		g.inObjects[key.from]++
	} else {
		g.elsewhere[key.from]++
	}
}

// evidence looks at all objects and says which of the words that may be references are.
func (w *walker) evidence() map[guessKey]sure {
	w.survey = &survey{guesses: map[uint64]*guess{}, frames: map[uint64]bool{}}
	w.walk()
	w.surveyPending()
	for _, obj := range w.collectable() {
		w.surveyObject(obj)
	}
	w.run()
	w.surveyPending()
	believed := map[guessKey]sure{}
	for to, g := range w.survey.guesses {
		w.weigh(believed, to, g)
	}
	return believed
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
	if _, ok := w.index.get(obj, w.nodes); ok || w.done() {
		return
	}
	if t := w.objectType(obj); t != nil && t.shape != shapeLeaf {
		w.add(-1, obj, label{}, isObject)
	}
}

// weigh decides about the words that have the address of one object.
func (w *walker) weigh(believed map[guessKey]sure, to uint64, g *guess) {
	const immortal = 1 << 30
	left, inObjects := w.references(to), int64(0)
	if n, ok := w.index.get(to, w.nodes); ok && int(n) < len(w.survey.refs) && left < immortal {
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
