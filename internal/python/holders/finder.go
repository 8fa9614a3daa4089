package holders

// finder looks for the holders of blocks, and for arrays that are none of the blocks where these are asked for.
type finder struct {
	*walker
	seeking bool // arrays that are none of the blocks as well, see unseenarrays.go
	unseen  []unseen
	shared  map[uint64]bool // counts of Arrow's objects that were looked into
}

func newFinder(w *walker) *finder { return &finder{walker: w, shared: map[uint64]bool{}} }

func (f *finder) over() bool { return f.left == 0 && !f.seeking }

// refer follows references that hold an object for sure, keeps those for later that are not to hide another way, and
// leaves out those that show no holder.
func (f *finder) refer(from int32, to uint64, kind step, l label) bool {
	switch kind {
	case stepKey:
		if t := f.objectType(to); t != nil && t.shape != shapeLeaf {
			f.keys = append(f.keys, edge{to: to, label: l, parent: from})
		}
	case stepWord:
		return !f.pointsAt(from, to, false) && f.beliefs.guess(from, to, l)
	case stepGlobals:
		if !f.deferring {
			return f.chase(from, to, l)
		}
		if _, ok := f.known(to); !ok && !f.spaces[to] {
			f.defers(from, to, l)
		}
	case stepClass:
		if !f.deferring {
			return f.chase(from, to, l)
		}
		f.deferClass(from, to)
	case stepCounting:
	default:
		return f.chase(from, to, l)
	}
	return false
}

// count does nothing: it is enough that a node is there.
func (f *finder) count(from, to int32) {}

func (f *finder) add(from int32, addr uint64, id int32, l label, what uint8) int32 {
	return f.make(from, addr, id, l, what)
}

func (f *finder) array(n int32, addr, data uint64) {
	if !f.pointsAt(n, data, true) && f.seeking {
		f.noteArray(n, arrayNote{data, ndarray{f.mem, addr}.ownSpan()})
	}
}

func (f *finder) arrayNoted(n int32, a arrayNote) {
	if !f.pointsAt(n, a.data, true) {
		f.noteArray(n, a)
	}
}

func (f *finder) readsArrays() bool { return false }

// library notes that an object of pyarrow's has blocks.
func (f *finder) library(n int32, obj uint64, t *typ) {
	if t.arrow {
		f.holdsArrow(n, obj, t)
	}
}

// holdsArrow notes that an object of pyarrow's has the blocks of the buffers that lie behind it. The findings of
// another object are not gone through again, so all objects together are looked at once.
func (f *finder) holdsArrow(n int32, obj uint64, t *typ) {
	type shared struct{ object, counts uint64 }
	var waiting []shared
	refer := func(p sharedPointer) bool {
		switch {
		case f.shared[p.counts]:
		case len(f.shared) >= f.limits.Objects:
			f.stopped = errObjects
		default:
			f.shared[p.counts] = true
			waiting = append(waiting, shared{p.object, p.counts})
		}
		return f.stopped == nil
	}
	eachShared(f.types, obj, t, func(p sharedPointer) { refer(p) })
	for len(waiting) > 0 && !f.done() {
		last := len(waiting) - 1
		p := sharedPointer{object: waiting[last].object, counts: waiting[last].counts}
		waiting = waiting[:last]
		p.class = f.class(f.mem.word(p.counts))
		_, behind := behindShared(f.types, p)
		if behind == 0 {
			behind = leastBehind(p.class)
		}
		if b, ok := poolBufferAt(f.types, p.object); ok {
			f.pointsAt(n, b.data, false)
		} else {
			pythonsOf(f.walker, n, p.object, behind)
		}
		scanShared(f.walker.types, p.object, behind, refer, func(vectorOfShared) bool { return true })
	}
}

const (
	leastUnseen = 64 << 10 // bytes of an array's data
	maxUnseen   = 1 << 16
)

// unseen is the data of an array that owns it and is none of the blocks that were asked for. It was made unseen: before
// the tracer came, or while its probes were out.
type unseen struct {
	node          int32
	address, size uint64
}

// noteArray takes in the data of an array that owns it.
func (f *finder) noteArray(n int32, a arrayNote) {
	if f.seeking && len(f.unseen) < maxUnseen && a.span >= leastUnseen && a.span < userSpace && f.blockAt(a.data) < 0 {
		f.unseen = append(f.unseen, unseen{n, a.data, a.span})
	}
}
