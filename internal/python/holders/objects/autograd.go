package objects

import "strings"

// A tensor that comes out of a calculation keeps the graph of it, in C++ objects of PyTorch's. A node of a graph has
// the tensors that it saved for the backward pass, and the nodes of its inputs. A graph is freed with the last tensor
// that keeps it.
//
// Everything in that memory may be forged. A word is taken for a reference only where it leads to an object with the
// right virtual table. An object is taken for a node only where it refers back to itself. Objects that are not
// recognized are left out: a reference count is then higher than the number of references that were found.
//
// The places of fields are those of PyTorch 1.13 and 2.6 on 64 bits with libstdc++'s std::string of 32 bytes: headers
// in torch/csrc/autograd, compared with both builds. Other versions are read where their objects look the same.

// NativeMemory is the memory of a process with C++ objects.
type NativeMemory interface {
	// Word reads 8 bytes; 0 where they cannot be read.
	Word(addr uint64) uint64
	// Class returns the mangled name of the C++ class with a virtual table; "" for none.
	Class(table uint64) string
	// ChunkSize returns how many bytes malloc gave out at an address; 0 where that is not known.
	ChunkSize(addr uint64) uint64
}

// Autograd reads the nodes of graphs.
type Autograd struct{ NativeMemory }

// NodePointer is a std::shared_ptr to a node: the object, and its counts.
type NodePointer struct{ Node, Counts uint64 }

// autogradVisitor is called with the references that a node has.
type autogradVisitor interface {
	Node(p NodePointer)
	Tensor(impl uint64)
	Object(obj uint64) // of Python's
}

const (
	maxNode   = 8 << 10       // bytes of a node that are looked at
	maxEdges  = 24 << 14      // bytes of a node's edges
	maxSaved  = 1 << 12       // elements of std::vectors of saved tensors in a node
	countsOf  = 8             // offset of the count of pointers in the control block of a std::shared_ptr
	byPointer = "_Sp_counted" // part of the name of a control block's class
)

// Places in a node (function.h): behind the virtual table is a std::weak_ptr to itself, and behind numbers and a lock
// the edges and a Python object that it does not hold.
const (
	nodeItself = 8
	nodeEdges  = 96
	nodeRest   = 128
)

// NodeAt reads the shared pointer to a node at an address; ok is false if there is none.
func (g Autograd) NodeAt(at uint64) (p NodePointer, ok bool) {
	p = NodePointer{g.Word(at), g.Word(at + 8)}
	return p, isAddress(p.Node) && g.isCounts(p.Counts) && g.Word(p.Node+nodeItself) == p.Node &&
		g.Word(p.Node+nodeItself+8) == p.Counts && g.Class(g.Word(p.Node)) != "" && g.Uses(p) > 0
}

// Uses returns how many pointers share a node.
func (g Autograd) Uses(p NodePointer) uint32 {
	n := uint32(g.Word(p.Counts + countsOf))
	if n >= 1<<30 {
		return 0
	}
	return n
}

// isCounts reports whether counts of a std::shared_ptr to something of autograd's are at an address.
func (g Autograd) isCounts(addr uint64) bool {
	if !isAddress(addr) {
		return false
	}
	class := g.Class(g.Word(addr))
	return strings.HasPrefix(class, "St") && strings.Contains(class, byPointer) &&
		strings.Contains(class, "5torch8autograd")
}

func isAddress(word uint64) bool { return word&7 == 0 && word >= LowestAddress && word < UserSpace }

// IsTensor reports whether a word is the address of a tensor in C++. PyTorch's object for "no tensor" is none.
func (g Autograd) IsTensor(word uint64) bool {
	if !isAddress(word) {
		return false
	}
	class := g.Class(g.Word(word))
	return strings.Contains(class, "TensorImpl") && !strings.Contains(class, "Undefined")
}

// size returns how many bytes a node can have from its address on, and how many bytes malloc gave out for the node and
// its counts; 0 where that is not known.
func (g Autograd) size(p NodePointer) (size, bytes uint64) {
	const inPlace = 16 // std::make_shared puts the counts in front
	bytes = g.ChunkSize(p.Counts)
	if p.Node == p.Counts+inPlace {
		return min(max(bytes, inPlace)-inPlace, maxNode), bytes
	}
	size = g.ChunkSize(p.Node)
	return min(size, maxNode), bytes + size
}

// Bytes returns how much memory a node has of its own, as far as that is known.
func (g Autograd) Bytes(p NodePointer) uint64 {
	_, bytes := g.size(p)
	if begin, end := g.Word(p.Node+nodeEdges), g.Word(p.Node+nodeEdges+16); end > begin && end-begin <= maxEdges {
		bytes += end - begin
	}
	return bytes
}

// Visit passes the references of a node to v. It returns false where the object is not like a node of a known version.
func (g Autograd) Visit(p NodePointer, v autogradVisitor) bool {
	if !g.edges(p.Node+nodeEdges, v) {
		return false
	}
	size, _ := g.size(p)
	class := g.Class(g.Word(p.Node))
	switch {
	case strings.HasSuffix(class, "14AccumulateGradE"):
		return g.variable(p.Node, size, v)
	case strings.HasSuffix(class, "6PyNodeE"):
		return g.function(p.Node, size, v)
	}
	g.visitRest(p.Node, size, v)
	return size > 0
}

// edges visits the nodes of a std::vector of edges. An edge is a shared pointer and a number. It returns false where
// the vector is not like one.
func (g Autograd) edges(at uint64, v autogradVisitor) bool {
	const edge = 24
	begin, end, room := g.Word(at), g.Word(at+8), g.Word(at+16)
	if begin == 0 && end == 0 && room == 0 {
		return true
	}
	if !isAddress(begin) || end < begin || room < end || end-begin > maxEdges || (end-begin)%edge != 0 {
		return false
	}
	for ; begin < end; begin += edge {
		if p, ok := g.NodeAt(begin); ok {
			v.Node(p)
		} else if g.Word(begin) != 0 {
			return false
		}
	}
	return true
}

// variable visits the parameter of a node that adds up gradients: the tensor that refers back to the node. It returns
// false if there is none.
func (g Autograd) variable(node, size uint64, v autogradVisitor) bool {
	for at := uint64(nodeRest); at+8 <= size; at += 8 {
		impl := g.Word(node + at)
		if g.IsTensor(impl) && g.refersBack(impl, node) {
			v.Tensor(impl)
			return true
		}
	}
	return false
}

// refersBack reports whether a tensor's autograd object has a node as the one that adds up its gradient.
func (g Autograd) refersBack(impl, node uint64) bool {
	for _, meta := range [...]uint64{g.Word(impl + 24), g.Word(impl + 32)} { // behind counts of 8 bytes, or of 16
		if IsAutogradMeta(g.Class(g.Word(meta))) && g.Word(meta+metaAdds) == node {
			return true
		}
	}
	return false
}

// function visits the Python object of a node that calls Python (torch.autograd.Function): the object that refers back
// to the node (python_function.h). It returns false if there is none.
func (g Autograd) function(node, size uint64, v autogradVisitor) bool {
	const head, most = 16, 320
	for at := uint64(nodeRest); at+8 <= size; at += 8 {
		obj := g.Word(node + at)
		if !isAddress(obj) || obj == node {
			continue
		}
		for back := uint64(head); back < most; back += 8 {
			if g.Word(obj+back) == node {
				v.Object(obj)
				return true
			}
		}
	}
	return false
}

// autogradMeta is what autograd keeps of a tensor (AutogradMeta in variable.h).
type autogradMeta struct {
	Gradient uint64 // a tensor, 0 for none
	Graph    NodePointer
	HasGraph bool
	Views    bool // it is a view, and has the tensors that it is a view of
}

// Offsets in an AutogradMeta. It does not hold the node at metaAdds, which adds up gradients.
const (
	metaName  = 8 // a std::string of 32 bytes
	metaGrad  = 40
	metaGraph = 48
	metaAdds  = 64
)

// IsAutogradMeta reports whether a class in C++ is what autograd keeps of a tensor, or derived from it.
func IsAutogradMeta(class string) bool {
	return strings.HasPrefix(class, "N5torch8autograd") && strings.HasSuffix(class, "MetaE")
}

// Meta reads what autograd keeps of a tensor; ok is false where it is not like that of a known version. A name of at
// most 15 characters, such as the usual empty name, lies in its std::string itself.
func (g Autograd) Meta(at uint64) (m autogradMeta, ok bool) {
	class := g.Class(g.Word(at))
	if !isAddress(at) || !IsAutogradMeta(class) || g.Word(at+metaName) != at+metaName+16 {
		return m, false
	}
	m.Views = strings.Contains(class, "ViewMeta")
	if grad := g.Word(at + metaGrad); g.IsTensor(grad) {
		m.Gradient = grad
	}
	m.Graph, m.HasGraph = g.NodeAt(at + metaGraph)
	return m, m.HasGraph || g.Word(at+metaGraph) == 0
}
