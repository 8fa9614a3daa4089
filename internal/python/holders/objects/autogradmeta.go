package objects

import "strings"

// AutogradMeta is what autograd keeps of a tensor (AutogradMeta in variable.h).
type AutogradMeta struct {
	Gradient uint64 // a tensor, 0 for none
	Graph    NodePointer
	HasGraph bool
	Views    bool // it is a view, and has the tensors that it is a view of
}

// Places in it: behind the name, a std::string of 32 bytes, the gradient, the graph, and the node that adds up
// gradients, which it does not hold.
const (
	metaName  = 8
	metaGrad  = 40
	metaGraph = 48
	metaAdds  = 64
)

// IsAutogradMeta reports whether a class in C++ is what autograd keeps of a tensor, or derived from it.
func IsAutogradMeta(class string) bool {
	return strings.HasPrefix(class, "N5torch8autograd") && strings.HasSuffix(class, "MetaE")
}

// Meta reads it; ok is false where it is not like one of a known version. A name of at most 15 characters, such as the
// usual one of none, lies in its std::string.
func (g Autograd) Meta(at uint64) (m AutogradMeta, ok bool) {
	class := g.Class(g.Word(at))
	if !isAddress(at) || !IsAutogradMeta(class) || g.Word(at+metaName) != at+metaName+16 {
		return m, false
	}
	m.Views = strings.Contains(class, "ViewMeta")
	if grad := g.Word(at + metaGrad); g.IsTensor(grad) {
		m.Gradient = grad
	}
	m.Graph, m.HasGraph = g.At(at + metaGraph)
	return m, m.HasGraph || g.Word(at+metaGraph) == 0
}
