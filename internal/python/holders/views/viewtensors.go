package views

import (
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// storageType is the name of the type for the memory of tensors.
const storageType = "torch.Storage"

// tensor files a tensor by its storage. One that only C++ has is no view: viewing.bases finds it.
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
	one := link{addr: obj}
	one.used = elementBytes(tensor)
	one.copies = one.used
	base.links = append(base.links, one)
}

// elementBytes is how many bytes the elements of a tensor are, 0 if that is not known.
func elementBytes(tensor objects.Tensor) uint64 {
	size := tensor.Scalar.Size
	for _, n := range tensor.Shape {
		size *= uint64(n)
	}
	return size
}

// weighStorage is weigh for a storage. Each tensor has an implementation in C++, these count for the storage, and the
// implementation of a view may have that of the tensor which it was made of.
func (v *viewing) weighStorage(base *viewed) (held Held, ok bool) {
	held = Held{View: event.View{Address: base.addr, Size: event.Bytes(base.size), Type: base.kind}, holds: base.holds}
	implementations := map[uint64]bool{}
	for _, one := range base.links {
		tensor := v.tensors[one.addr]
		implementations[tensor.Impl] = true
		for _, of := range v.bases(tensor) {
			implementations[of] = true
		}
	}
	// the intrusive reference count is behind the virtual table
	if int(uint32(v.Mem.Word(base.owner+8))) != len(implementations) {
		return held, false // code in C++ has it, too
	}
	for _, one := range base.links {
		if v.isBase(base, one.addr) {
			continue // only views have it
		}
		if one.copies == 0 {
			return held, false
		}
		held.targets = append(held.targets, target{View: one.addr, used: one.used, copies: one.copies})
	}
	return held, len(held.targets) > 0
}

// bases are the tensors that a view was made of, as autograd keeps them.
func (v *viewing) bases(tensor objects.Tensor) (all []uint64) {
	if tensor.Meta == 0 || !strings.Contains(v.Class(v.Mem.Word(tensor.Meta)), "ViewMeta") {
		return nil
	}
	const first = 40 // behind the name
	v.Mem.Words(tensor.Meta+first, (max(v.ChunkSize(tensor.Meta), first)-first)/8, func(_, word uint64) bool {
		of := objects.Tensor{Impl: word}
		if word != 0 && word&7 == 0 && word != tensor.Impl &&
			strings.Contains(v.Class(v.Mem.Word(word)), "TensorImpl") &&
			v.ReadStorage(&of) && of.Storage == tensor.Storage {
			all = append(all, word)
		}
		return true
	})
	return all
}

// isBase reports whether only the views of a tensor have it: its object was let go, and PyTorch keeps that for its
// implementation.
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
