package holders

import (
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// Library adds the memory of an object of PyTorch's or of pyarrow's.
func (e *extents) Library(n int32, obj uint64, t *objects.Type) {
	switch {
	case t.Arrow:
		e.arrow(n, obj, t)
	case e.IsTensor(t):
		e.tensor(n, obj, t)
	default:
		e.function(n, obj, t)
	}
	e.tensors.walk()
}

// tensor adds the memory of a tensor. If the tensor in C++ owns the Python object, that object does not hold the
// tensor.
func (e *extents) tensor(n int32, obj uint64, t *objects.Type) {
	x, ok := e.Walker.ReadTensor(obj, t)
	if !ok {
		return
	}
	e.unknown[n] = false
	if !x.OwnsPython {
		e.tensors.impl(n, x.Impl)
	}
}

// function adds the memory of an object of torch.autograd: a node, or the tensors that a function in Python saved.
func (e *extents) function(n int32, obj uint64, t *objects.Type) {
	const head, most = 16, 512 // bytes of a PyObject, and of the object that are looked at
	r := references{&e.tensors, n}
	if p, ok := e.tensors.graph.NodeAt(obj + head); ok && t.UnknownBefore > 0 {
		r.Node(p)
	} else if e.Lineage(t).Is("torch._C._FunctionBase") {
		e.tensors.graph.Saved(obj+head, min(max(t.Basic, head), most)-head, r)
	}
}

// maxGraph is how many nodes of graphs are looked into. The memory behind other nodes counts as held by something else.
const maxGraph = 1 << 18

// walk looks into the waiting tensors and nodes.
func (w *tensorWalk) walk() {
	for len(w.waiting) > 0 && !w.e.Done() {
		last := w.waiting[len(w.waiting)-1]
		w.waiting = w.waiting[:len(w.waiting)-1]
		if last.impl != 0 {
			w.intoImpl(last.n, last.impl)
		} else if !w.graph.Visit(last.node, references{w, last.n}) {
			w.e.unknown[last.n] = true
		}
	}
}

// native does what [extents.native] does, and notes new nodes as counted.
func (w *tensorWalk) native(from int32, addr, bytes uint64, uses uint32) (n int32, isNew bool) {
	if n, isNew = w.e.native(from, addr, bytes, uses); isNew {
		w.counted = append(w.counted, n)
	}
	return n, isNew
}

// impl counts a reference to a TensorImpl.
func (w *tensorWalk) impl(from int32, impl uint64) {
	const size = 208
	if n, isNew := w.native(from, impl, size, uint32(w.e.Mem.Word(impl+8))); isNew {
		w.waiting = append(w.waiting, waiting{n: n, impl: impl})
	}
}

// intoImpl follows the references of a TensorImpl: to its storage, to its Python object, if it owns that, and to what
// autograd keeps of the tensor.
func (w *tensorWalk) intoImpl(n int32, impl uint64) {
	e, x := w.e, objects.Tensor{Impl: impl}
	if !e.ReadStorage(&x) {
		e.unknown[n] = true
		return
	}
	w.storage(n, x)
	const first, last = 40, 96 // where the word may be that refers to the Python object; the lowest bit: it is owned
	for at := impl + first; at <= impl+last; at += 8 {
		word := e.Mem.Word(at)
		if t := e.ObjectType(word &^ 1); word&7 == 1 && t != nil && e.IsTensor(t) {
			references{w, n}.Object(word &^ 1)
			break
		}
	}
	if x.Meta == 0 {
		return
	}
	meta, ok := w.graph.Meta(x.Meta)
	e.unknown[n] = !ok
	if meta.Gradient != 0 {
		w.impl(n, meta.Gradient)
	}
	if meta.HasGraph {
		references{w, n}.Node(meta.Graph)
	}
	if meta.Views {
		w.bases(n, x.Meta)
	}
}

// bases follows the references to the tensors that a view was made of. They are behind the fields that autograd keeps
// of every tensor.
func (w *tensorWalk) bases(n int32, meta uint64) {
	const first = 96
	end := w.e.ChunkSize(meta)
	for at := uint64(first); at+8 <= end; at += 8 {
		base := objects.Tensor{Impl: w.e.Mem.Word(meta + at)}
		if w.graph.IsTensor(base.Impl) && w.e.ReadStorage(&base) {
			w.impl(n, base.Impl)
		}
	}
}

// storage counts a reference to a StorageImpl, and adds the memory of its data.
func (w *tensorWalk) storage(from int32, x objects.Tensor) {
	const size = 80
	e := w.e
	n, isNew := w.native(from, x.Storage, size, uint32(e.Mem.Word(x.Storage+8)))
	if n < 0 || !isNew {
		return
	}
	e.data[n] = x.Data
	switch {
	case x.Owner != x.Data: // memory of another owner, such as an array's
		e.unknown[n] = !e.Follow(n, x.Owner, walk.Label{})
	case x.OnGPU:
		e.device[n] = x.Size
	default:
		bytes, known := e.Sizes.Buffer(x.Data, x.Size)
		e.bytes[n] += bytes
		e.enlarge(n, bytes)
		e.unknown[n] = !known
	}
}

// references follows the references of a node for a tensor or for a node of a graph. The collector does not see them.
type references struct {
	*tensorWalk
	from int32
}

func (r references) Tensor(impl uint64) { r.impl(r.from, impl) }

// Object follows a reference to an object of Python's.
func (r references) Object(obj uint64) {
	before := r.e.Hidden
	r.e.Hidden = true
	r.e.Follow(r.from, obj, walk.Label{})
	r.e.Hidden = before
}

// Node follows a reference to a node of a graph. The node may have more memory than is seen: lists of numbers, a state
// of its own.
func (r references) Node(p objects.NodePointer) {
	if _, known := r.e.Known(p.Node); !known {
		if r.nodes++; r.nodes > maxGraph {
			r.e.unknown[r.from] = true
			return
		}
	}
	n, isNew := r.native(r.from, p.Node, r.graph.Bytes(p), r.graph.Uses(p))
	if n >= 0 && isNew {
		r.e.unknown[n] = true
		r.waiting = append(r.waiting, waiting{n: n, node: p})
	}
}
