package variables

import (
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// Library takes in the memory of an object of PyTorch's or of pyarrow's.
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

// tensor takes in the memory of a tensor. An object that only the tensor in C++ has does not count for that.
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

// function takes in what an object of torch.autograd has: a node, or the tensors that a function in Python saved.
func (e *extents) function(n int32, obj uint64, t *objects.Type) {
	const head, most = 16, 512
	r := references{&e.tensors, n}
	if p, ok := e.tensors.graph.At(obj + head); ok && t.UnknownBefore > 0 {
		r.Node(p)
	} else if e.Lineage(t).Is("torch._C._FunctionBase") {
		e.tensors.graph.Saved(obj+head, min(max(t.Basic, head), most)-head, r)
	}
}

// maxGraph is how many nodes of graphs are looked into. Whatever others have then counts as held by something else.
const maxGraph = 1 << 18

// walk looks into whatever waits.
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

// native takes in a reference to a tensor or a node of a graph.
func (w *tensorWalk) native(from int32, addr, bytes uint64, uses uint32) (n int32, isNew bool) {
	if n, isNew = w.e.native(from, addr, bytes, uses); isNew {
		w.counted = append(w.counted, n)
	}
	return n, isNew
}

// impl takes in a reference to a TensorImpl.
func (w *tensorWalk) impl(from int32, impl uint64) {
	const itself = 208
	if n, isNew := w.native(from, impl, itself, uint32(w.e.Mem.Word(impl+8))); isNew {
		w.waiting = append(w.waiting, waiting{n: n, impl: impl})
	}
}

// intoImpl takes in what a TensorImpl has: its storage, its Python object, where nothing in Python has that, and what
// autograd keeps of it.
func (w *tensorWalk) intoImpl(n int32, impl uint64) {
	e, x := w.e, objects.Tensor{Impl: impl}
	if !e.ReadStorage(&x) {
		e.unknown[n] = true
		return
	}
	w.storage(n, x)
	const from, to = 40, 96
	for at := impl + from; at <= impl+to; at += 8 {
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

// bases takes in the tensors that a view was made of. They stand behind what autograd keeps of every tensor.
func (w *tensorWalk) bases(n int32, meta uint64) {
	const first = 96
	end := w.e.ChunkSize(meta)
	for at := uint64(first); at+8 <= end; at += 8 {
		if of := (objects.Tensor{Impl: w.e.Mem.Word(meta + at)}); w.graph.IsTensor(of.Impl) && w.e.ReadStorage(&of) {
			w.impl(n, of.Impl)
		}
	}
}

// storage takes in a reference to a StorageImpl.
func (w *tensorWalk) storage(from int32, x objects.Tensor) {
	const itself = 80
	e := w.e
	n, isNew := w.native(from, x.Storage, itself, uint32(e.Mem.Word(x.Storage+8)))
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

// references takes the references that a tensor or a node of a graph has. The collector does not see them.
type references struct {
	*tensorWalk
	from int32
}

func (r references) Tensor(impl uint64) { r.impl(r.from, impl) }

// Object takes an object of Python's.
func (r references) Object(obj uint64) {
	before := r.e.Hidden
	r.e.Hidden = true
	r.e.Follow(r.from, obj, walk.Label{})
	r.e.Hidden = before
}

// Node takes a node of a graph. It may have more memory than is seen: lists of numbers, a state of its own.
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
