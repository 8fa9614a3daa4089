package holders

import (
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// storageType is the name of the type for the memory of tensors.
const storageType = "torch.Storage"

// tensor files a tensor under its storage. It leaves out a tensor whose Python object only C++ has: viewing.bases finds
// these.
func (v *viewing) tensor(obj uint64, typ *objects.Type) {
	tensor, ok := v.ReadTensor(obj, typ)
	if !ok || tensor.OwnsPython || tensor.Size < leastBase {
		return
	}
	if tensor.Owner != tensor.Data { // memory of another owner, such as an array's
		return
	}
	base := v.of[tensor.Storage]
	if base == nil {
		base = &viewed{owner: tensor.Storage, addr: tensor.Data, size: tensor.Size, kind: storageType,
			holds: map[uint64]int64{}, storage: true}
		v.of[tensor.Storage] = base
	}
	v.tensors[obj] = tensor
	bytes := elementBytes(tensor)
	base.links = append(base.links, link{addr: obj, used: bytes, copies: bytes})
}

// elementBytes returns the size of the elements of a tensor, 0 if it is not known.
func elementBytes(tensor objects.Tensor) uint64 {
	size := tensor.Scalar.Size
	for _, n := range tensor.Shape {
		size *= uint64(n)
	}
	return size
}

// weighStorage does what weigh does, for a storage. The storage's reference count counts the implementations of tensors
// in C++: those of the tensors, and those of the tensors that views were made of.
func (v *viewing) weighStorage(base *viewed) (held Held, ok bool) {
	held = Held{View: event.View{Address: base.addr, Size: event.Bytes(base.size), Type: base.kind}, holds: base.holds}
	implementations := map[uint64]bool{}
	for _, view := range base.links {
		tensor := v.tensors[view.addr]
		implementations[tensor.Impl] = true
		for _, impl := range v.bases(tensor) {
			implementations[impl] = true
		}
	}
	const referenceCount = 8 // behind the virtual table
	if int(uint32(v.Mem.Word(base.owner+referenceCount))) != len(implementations) {
		return held, false // code in C++ has the storage, too
	}
	for _, view := range base.links {
		if v.isBase(base, view.addr) {
			continue // only views have the tensor
		}
		if view.copies == 0 {
			return held, false
		}
		held.targets = append(held.targets, target{View: view.addr, used: view.used, copies: view.copies})
	}
	return held, len(held.targets) > 0
}

// bases returns the TensorImpls of the tensors that a view was made of, as autograd keeps them.
func (v *viewing) bases(tensor objects.Tensor) (impls []uint64) {
	if tensor.Meta == 0 || !strings.Contains(v.Class(v.Mem.Word(tensor.Meta)), "ViewMeta") {
		return nil
	}
	const first = 40 // behind the name
	v.Mem.Words(tensor.Meta+first, (max(v.ChunkSize(tensor.Meta), first)-first)/8, func(_, word uint64) bool {
		base := objects.Tensor{Impl: word}
		if word == 0 || word&7 != 0 || word == tensor.Impl ||
			!strings.Contains(v.Class(v.Mem.Word(word)), "TensorImpl") {
			return true
		}
		if v.ReadStorage(&base) && base.Storage == tensor.Storage {
			impls = append(impls, word)
		}
		return true
	})
	return impls
}

// isBase reports whether only views of a tensor hold the tensor's object: no name refers to the object, but PyTorch
// keeps it with the implementation.
func (v *viewing) isBase(base *viewed, obj uint64) bool {
	n, ok := v.Known(obj)
	if !ok {
		return true
	}
	parent := v.Nodes[n].Parent
	return parent >= 0 && slices.ContainsFunc(base.links, func(l link) bool { return l.addr == v.Addrs[parent] })
}

// hasGraph reports whether autograd's object for a tensor refers to its computation, and so perhaps to the memory.
func (v *viewing) hasGraph(obj uint64) bool {
	const graph = 48
	tensor, ok := v.tensors[obj]
	return ok && tensor.Meta != 0 && v.Mem.Word(tensor.Meta+graph) != 0
}
