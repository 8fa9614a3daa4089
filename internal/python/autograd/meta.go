package autograd

import "strings"

// Meta is what autograd keeps of a tensor (AutogradMeta in variable.h).
type Meta struct {
	Gradient uint64 // a tensor, 0 for none
	Graph    Pointer
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

func isMeta(class string) bool {
	return strings.HasPrefix(class, "N5torch8autograd") && strings.HasSuffix(class, "MetaE")
}

// Meta reads it; ok is false where it is not like one of a known version. A name of at most 15 characters, such as the
// usual one of none, lies in its std::string.
func (g Graph) Meta(at uint64) (m Meta, ok bool) {
	class := g.Class(g.Word(at))
	if !isAddress(at) || !isMeta(class) || g.Word(at+metaName) != at+metaName+16 {
		return m, false
	}
	m.Views = strings.Contains(class, "ViewMeta")
	if grad := g.Word(at + metaGrad); g.IsTensor(grad) {
		m.Gradient = grad
	}
	m.Graph, m.HasGraph = g.At(at + metaGraph)
	return m, m.HasGraph || g.Word(at+metaGraph) == 0
}
