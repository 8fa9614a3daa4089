package holders

import (
	"slices"
	"strings"

	"ipytracer/event"
)

// storageType is the name of the type for the memory of tensors.
const storageType = "torch.Storage"

// tensor files a tensor by its storage. One that only C++ has is no view: [viewing.bases] finds it.
func (v *viewing) tensor(obj uint64, t *typ) {
	x, ok := v.readTensor(obj, t)
	if !ok || x.lent || x.owner != x.data || x.size < leastBase { // memory of another owner, such as an array's
		return
	}
	g := v.of[x.storage]
	if g == nil {
		g = &viewed{owner: x.storage, addr: x.data, size: x.size, kind: storageType, holds: map[uint64]int64{},
			storage: true}
		v.of[x.storage] = g
	}
	v.tensors[obj] = x
	one := link{addr: obj}
	one.used = elementBytes(x)
	one.copies = one.used
	g.links = append(g.links, one)
}

// elementBytes is how many bytes the elements of a tensor are, 0 if that is not known.
func elementBytes(x tensor) uint64 {
	size := uint64(0)
	for _, s := range scalars {
		if s.name == x.dtype {
			size = s.size
		}
	}
	for _, n := range x.shape {
		size *= uint64(n)
	}
	return size
}

// weighStorage is weigh for a storage. Each tensor has an implementation in C++, these count for the storage, and the
// implementation of a view may have that of the tensor which it was made of.
func (v *viewing) weighStorage(g *viewed) (f foundView, ok bool) {
	f = foundView{View: event.View{Address: g.addr, Size: event.Bytes(g.size), Type: g.kind}, holds: g.holds}
	implementations := map[uint64]bool{}
	for _, one := range g.links {
		x := v.tensors[one.addr]
		implementations[x.impl] = true
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
		f.targets = append(f.targets, target{view: one.addr, used: one.used, copies: one.copies})
	}
	return f, len(f.targets) > 0
}

// countOf is the intrusive reference count of an object of PyTorch's, behind its virtual table.
func (v *viewing) countOf(addr uint64) int64 { return int64(uint32(v.mem.word(addr + 8))) }

// bases are the tensors that a view was made of, as autograd keeps them: see [tensorWalk.bases].
func (v *viewing) bases(x tensor) (all []uint64) {
	if x.meta == 0 || !strings.Contains(v.class(v.mem.word(x.meta)), "ViewMeta") {
		return nil
	}
	const first = 40 // behind the name
	v.mem.words(x.meta+first, (max(v.chunkSize(x.meta), first)-first)/8, func(_, word uint64) bool {
		of := tensor{impl: word}
		if word != 0 && word&7 == 0 && word != x.impl && strings.Contains(v.class(v.mem.word(word)), "TensorImpl") &&
			v.readStorage(&of) && of.storage == x.storage {
			all = append(all, word)
		}
		return true
	})
	return all
}

// isBase reports whether only the views of a tensor have it: its object was let go, and PyTorch keeps that for its
// implementation.
func (v *viewing) isBase(g *viewed, obj uint64) bool {
	n, ok := v.known(obj)
	if !ok {
		return true
	}
	parent := v.nodes[n].parent
	return parent >= 0 && slices.ContainsFunc(g.links, func(l link) bool { return l.addr == v.addrs[parent] })
}

// hasGraph reports whether autograd's object for a tensor refers to its computation, and so perhaps to the memory.
func (v *viewing) hasGraph(obj uint64) bool {
	const graph = 48
	x, ok := v.tensors[obj]
	return ok && x.meta != 0 && v.mem.word(x.meta+graph) != 0
}
