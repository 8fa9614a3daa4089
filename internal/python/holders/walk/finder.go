package walk

import (
	"ipytracer/internal/python/holders/objects"
)

// Finder looks for the holders of blocks, and for arrays that are none of the blocks where these are asked for.
type Finder struct {
	*Walker
	SeeksArrays bool // look also for arrays that are none of the blocks, see [unseen]
	Unseen      []unseen
	shared      map[uint64]bool // Arrow's objects that were looked into, by the addresses of their control blocks
}

var (
	_ Visitor      = (*Finder)(nil)
	_ ArrayTaker   = (*Finder)(nil)
	_ LibraryTaker = (*Finder)(nil)
)

// NewFinder returns the visitor of a walker.
func NewFinder(w *Walker) *Finder { return &Finder{Walker: w, shared: map[uint64]bool{}} }

func (f *Finder) Over() bool { return f.left == 0 && !f.SeeksArrays }

// Refer follows a reference, or keeps it for later if a path through it says less than other paths, or leaves it out if
// it shows no holder.
func (f *Finder) Refer(from int32, to uint64, kind objects.Step, l Label) bool {
	switch kind {
	case objects.StepKey:
		if t := f.ObjectType(to); t != nil && t.Shape != objects.ShapeLeaf {
			f.keys = append(f.keys, edge{To: to, Label: l, Parent: from})
		}
	case objects.StepWord:
		return !f.pointsAt(from, to, false) && f.followPlausible(from, to, l)
	case objects.StepGlobals:
		if !f.Deferring {
			return f.Reach(from, to, l)
		}
		if _, ok := f.Known(to); !ok && !f.Spaces[to] {
			f.deferReference(from, to, l)
		}
	case objects.StepClass:
		if !f.Deferring {
			return f.Reach(from, to, l)
		}
		f.deferClass(from, to)
	case objects.StepCounting:
	default:
		return f.Reach(from, to, l)
	}
	return false
}

// Count does nothing: it is enough that a node is there.
func (f *Finder) Count(from, to int32) {}

func (f *Finder) Add(from int32, addr uint64, id int32, l Label, what uint8) int32 {
	return f.Make(from, addr, id, l, what)
}

func (f *Finder) Array(n int32, addr, data uint64) {
	if !f.pointsAt(n, data, true) && f.SeeksArrays {
		f.noteArray(n, objects.ArrayNote{Data: data, Span: f.OwnSpan(addr)})
	}
}

func (f *Finder) ArrayNoted(n int32, a objects.ArrayNote) {
	if !f.pointsAt(n, a.Data, true) {
		f.noteArray(n, a)
	}
}

func (f *Finder) ReadsArrays() bool { return false }

// Library notes that an object of pyarrow's has blocks.
func (f *Finder) Library(n int32, obj uint64, t *objects.Type) {
	if t.Arrow {
		f.holdsArrow(n, obj, t)
	}
}

// holdsArrow notes that an object of pyarrow's has the blocks of the buffers to which it leads through C++ objects. A
// C++ object counts only for the first Python object that leads to it, so each is looked at once.
func (f *Finder) holdsArrow(n int32, obj uint64, t *objects.Type) {
	type shared struct{ object, counts uint64 }
	var waiting []shared
	refer := func(p objects.SharedPointer) bool {
		switch {
		case f.shared[p.Counts]:
		case len(f.shared) >= f.Limits.Objects:
			f.Stopped = objects.ErrObjects
		default:
			f.shared[p.Counts] = true
			waiting = append(waiting, shared{p.Object, p.Counts})
		}
		return f.Stopped == nil
	}
	objects.EachShared(f.Types, obj, t, func(p objects.SharedPointer) { refer(p) })
	for len(waiting) > 0 && !f.Done() {
		last := len(waiting) - 1
		p := objects.SharedPointer{Object: waiting[last].object, Counts: waiting[last].counts}
		waiting = waiting[:last]
		p.Class = f.Class(f.Mem.Word(p.Counts))
		_, behind := objects.BehindShared(f.Types, p)
		if behind == 0 {
			behind = objects.LeastBehind(p.Class)
		}
		if b, ok := objects.PoolBufferAt(f.Types, p.Object); ok {
			f.pointsAt(n, b.Data, false)
		} else {
			PythonsOf(f.Walker, n, p.Object, behind)
		}
		objects.ScanShared(f.Walker.Types, p.Object, behind, refer, func(objects.SharedVector) bool { return true })
	}
}

const (
	leastUnseen = 64 << 10 // bytes of an array's data
	maxUnseen   = 1 << 16
)

// unseen is an array's own data that is none of the blocks that were asked for. The array was made before the tracer
// came, or while its probes were out.
type unseen struct {
	Node          int32
	Address, Size uint64
}

// noteArray notes an array as unseen, if it owns enough data.
func (f *Finder) noteArray(n int32, a objects.ArrayNote) {
	if f.SeeksArrays && len(f.Unseen) < maxUnseen && a.Span >= leastUnseen && a.Span < objects.UserSpace &&
		objects.BlockAt(f.Blocks, a.Data) < 0 {
		f.Unseen = append(f.Unseen, unseen{n, a.Data, a.Span})
	}
}
