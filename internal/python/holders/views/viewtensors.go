package views

import (
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// storageType is the name of the type for the memory of tensors.
const storageType = "torch.Storage"

// tensor files a tensor by its storage. One that only C++ has is no view: [Viewing.bases] finds it.
func (v *Viewing) tensor(obj uint64, t *objects.Type) {
	x, ok := v.ReadTensor(obj, t)
	if !ok || x.OwnsPython || x.Owner != x.Data || x.Size < leastBase { // memory of another owner, such as an array's
		return
	}
	g := v.of[x.Storage]
	if g == nil {
		g = &viewed{owner: x.Storage, addr: x.Data, size: x.Size, kind: storageType, holds: map[uint64]int64{},
			storage: true}
		v.of[x.Storage] = g
	}
	v.tensors[obj] = x
	one := link{addr: obj}
	one.used = elementBytes(x)
	one.copies = one.used
	g.links = append(g.links, one)
}

// elementBytes is how many bytes the elements of a tensor are, 0 if that is not known.
func elementBytes(x objects.Tensor) uint64 {
	size := x.Scalar.Size
	for _, n := range x.Shape {
		size *= uint64(n)
	}
	return size
}

// weighStorage is weigh for a storage. Each tensor has an implementation in C++, these count for the storage, and the
// implementation of a view may have that of the tensor which it was made of.
func (v *Viewing) weighStorage(g *viewed) (f Held, ok bool) {
	f = Held{View: event.View{Address: g.addr, Size: event.Bytes(g.size), Type: g.kind}, holds: g.holds}
	implementations := map[uint64]bool{}
	for _, one := range g.links {
		x := v.tensors[one.addr]
		implementations[x.Impl] = true
		for _, of := range v.bases(x) {
			implementations[of] = true
		}
	}
	if v.countOf(g.owner) != int64(len(implementations)) {
		return f, false // code in C++ has it, too
	}
	for _, one := range g.links {
		if v.isBase(g, one.addr) {
			continue // only views have it
		}
		if one.copies == 0 {
			return f, false
		}
		f.Targets = append(f.Targets, Target{View: one.addr, used: one.used, copies: one.copies})
	}
	return f, len(f.Targets) > 0
}

// countOf is the intrusive reference count of an object of PyTorch's, behind its virtual table.
func (v *Viewing) countOf(addr uint64) int64 { return int64(uint32(v.Mem.Word(addr + 8))) }

// bases are the tensors that a view was made of, as autograd keeps them: see [variables.tensorWalk.bases].
func (v *Viewing) bases(x objects.Tensor) (all []uint64) {
	if x.Meta == 0 || !strings.Contains(v.Class(v.Mem.Word(x.Meta)), "ViewMeta") {
		return nil
	}
	const first = 40 // behind the name
	v.Mem.Words(x.Meta+first, (max(v.ChunkSize(x.Meta), first)-first)/8, func(_, word uint64) bool {
		of := objects.Tensor{Impl: word}
		if word != 0 && word&7 == 0 && word != x.Impl && strings.Contains(v.Class(v.Mem.Word(word)), "TensorImpl") &&
			v.ReadStorage(&of) && of.Storage == x.Storage {
			all = append(all, word)
		}
		return true
	})
	return all
}

// isBase reports whether only the views of a tensor have it: its object was let go, and PyTorch keeps that for its
// implementation.
func (v *Viewing) isBase(g *viewed, obj uint64) bool {
	n, ok := v.Known(obj)
	if !ok {
		return true
	}
	parent := v.Nodes[n].Parent
	return parent >= 0 && slices.ContainsFunc(g.links, func(l link) bool { return l.addr == v.Addrs[parent] })
}

// hasGraph reports whether autograd's object for a tensor refers to its computation, and so perhaps to the memory.
func (v *Viewing) hasGraph(obj uint64) bool {
	const graph = 48
	x, ok := v.tensors[obj]
	return ok && x.Meta != 0 && v.Mem.Word(x.Meta+graph) != 0
}
