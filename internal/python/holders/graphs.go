package holders

import "ipytracer/internal/python/autograd"

// library takes in the memory of an object of PyTorch's or of pyarrow's.
func (e *extents) library(n int32, obj uint64, t *typ) {
	switch {
	case t.arrow:
		e.arrow(n, obj, t)
	case e.isTensor(t):
		e.tensor(n, obj, t)
	default:
		e.function(n, obj, t)
	}
	e.tensors.walk()
}

// tensor takes in the memory of a tensor. An object that only the tensor in C++ has does not count for that.
func (e *extents) tensor(n int32, obj uint64, t *typ) {
	x, ok := e.walker.readTensor(obj, t)
	if !ok {
		return
	}
	e.unknown[n] = false
	if !x.lent {
		e.tensors.impl(n, x.impl)
	}
}

// function takes in what an object of torch.autograd has: a node, or the tensors that a function in Python saved.
func (e *extents) function(n int32, obj uint64, t *typ) {
	const head, most = 16, 512
	r := references{&e.tensors, n}
	if p, ok := e.tensors.graph.At(obj + head); ok && t.loose > 0 {
		r.Node(p)
	} else if e.lineage(t).is("torch._C._FunctionBase") {
		e.tensors.graph.Saved(obj+head, min(max(t.basic, head), most)-head, r)
	}
}

// tensorWalk takes in tensors in C++ and the graphs that they have. Both have counts of references.
type tensorWalk struct {
	e       *extents
	graph   autograd.Graph
	waiting []waiting
	nodes   int     // of graphs
	counted []int32 // all of them
}

// waiting is a tensor or a node of a graph that was not looked into.
type waiting struct {
	n    int32
	impl uint64
	node autograd.Pointer
}

// maxGraph is how many nodes of graphs are looked into. Whatever others have then counts as held by something else.
const maxGraph = 1 << 18

// ofProcess has autograd read a process.
type ofProcess struct{ *types }

func (o ofProcess) Word(addr uint64) uint64   { return o.mem.word(addr) }
func (o ofProcess) Class(table uint64) string { return o.class(table) }
func (o ofProcess) Chunk(addr uint64) uint64  { return o.chunkSize(addr) }

// walk looks into whatever waits.
func (w *tensorWalk) walk() {
	for len(w.waiting) > 0 && !w.e.done() {
		last := w.waiting[len(w.waiting)-1]
		w.waiting = w.waiting[:len(w.waiting)-1]
		if last.impl != 0 {
			w.intoImpl(last.n, last.impl)
		} else if !w.graph.Visit(last.node, references{w, last.n}) {
			w.e.unknown[last.n] = true
		}
	}
}

// native makes a node of an object in C++ that so many refer to, if there is none yet, and takes in a reference to it.
func (w *tensorWalk) native(from int32, addr, bytes uint64, uses uint32) (n int32, isNew bool) {
	e := w.e
	n, known := e.known(addr)
	if !known {
		if n = e.addNew(nobody, addr, label{}, nodePart); n < 0 {
			return n, false
		}
		e.bytes[n], e.refs[n], e.unknown[n], e.class[n] = bytes, uses, false, false
		w.counted = append(w.counted, n)
	}
	e.count(from, n)
	return n, !known
}

// impl takes in a reference to a TensorImpl.
func (w *tensorWalk) impl(from int32, impl uint64) {
	const itself = 208
	if n, isNew := w.native(from, impl, itself, uint32(w.e.mem.word(impl+8))); isNew {
		w.waiting = append(w.waiting, waiting{n: n, impl: impl})
	}
}

// intoImpl takes in what a TensorImpl has: its storage, its Python object, where nothing in Python has that, and what
// autograd keeps of it.
func (w *tensorWalk) intoImpl(n int32, impl uint64) {
	e, x := w.e, tensor{impl: impl}
	if !e.readStorage(&x) {
		e.unknown[n] = true
		return
	}
	w.storage(n, x)
	const from, to = 40, 96
	for at := impl + from; at <= impl+to; at += 8 {
		word := e.mem.word(at)
		if t := e.objectType(word &^ 1); word&7 == 1 && t != nil && e.isTensor(t) {
			references{w, n}.Object(word &^ 1)
			break
		}
	}
	if x.meta == 0 {
		return
	}
	meta, ok := w.graph.Meta(x.meta)
	e.unknown[n] = !ok
	if meta.Gradient != 0 {
		w.impl(n, meta.Gradient)
	}
	if meta.HasGraph {
		references{w, n}.Node(meta.Graph)
	}
	if meta.Views {
		w.bases(n, x.meta)
	}
}

// bases takes in the tensors that a view is a view of, behind what autograd keeps of every tensor.
func (w *tensorWalk) bases(n int32, meta uint64) {
	const first = 96
	end := w.e.chunkSize(meta)
	for at := uint64(first); at+8 <= end; at += 8 {
		if of := (tensor{impl: w.e.mem.word(meta + at)}); w.graph.IsTensor(of.impl) && w.e.readStorage(&of) {
			w.impl(n, of.impl)
		}
	}
}

// storage takes in a reference to a StorageImpl.
func (w *tensorWalk) storage(from int32, x tensor) {
	const itself = 80
	e := w.e
	n, isNew := w.native(from, x.storage, itself, uint32(e.mem.word(x.storage+8)))
	if n < 0 || !isNew {
		return
	}
	e.data[n] = x.data
	switch {
	case x.owner != x.data: // memory of another owner, such as an array's
		e.unknown[n] = !e.follow(n, x.owner, label{})
	case x.onGPU:
		e.device[n] = x.size
	default:
		bytes, known := e.sizes.buffer(x.data, x.size)
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
	before := r.e.hidden
	r.e.hidden = true
	r.e.follow(r.from, obj, label{})
	r.e.hidden = before
}

// Node takes a node of a graph. It may have more memory than is seen: lists of numbers, a state of its own.
func (r references) Node(p autograd.Pointer) {
	if _, known := r.e.known(p.Node); !known {
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
