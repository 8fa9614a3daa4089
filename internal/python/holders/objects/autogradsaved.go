package objects

import "strings"

// saved has the offsets in a SavedVariable (saved_variable.h), and its size.
type saved struct {
	counter uint64 // the version counter; 0 if the layout has none
	flags   uint64 // five flags of a byte each
	hooks   uint64 // an object with the Python functions that pack and unpack the tensor
	graph   uint64 // the graph, set if hooks have the tensor
	adds    uint64 // the node that adds up gradients, set if hooks have the tensor
	holds   bool   // the SavedVariable holds the node at adds
	size    uint64
}

var savedLayouts = [...]saved{
	{counter: 40, flags: 56, hooks: 64, graph: 72, adds: 88, size: 112}, // 1.13
	{flags: 48, hooks: 56, graph: 64, adds: 80, holds: true, size: 104}, // 2.6
}

// Saved visits the SavedVariables in a part of memory, and those in vectors.
func (g Autograd) Saved(from, size uint64, v autogradVisitor) {
	left := maxSaved
	for at, end := from, from+min(size, maxNode); at+8 <= end; {
		at += max(g.savedAt(at, end, &left, v), 8)
	}
}

// visitRest visits the SavedVariables, and the shared pointers to nodes, in the part of a node that its class adds.
func (g Autograd) visitRest(node, size uint64, v autogradVisitor) {
	left := maxSaved
	for at, end := node+nodeRest, node+size; at+8 <= end; {
		size := g.savedAt(at, end, &left, v)
		if p, ok := g.NodeAt(at); size == 0 && ok && at+16 <= end {
			size = 16
			if p.Node != node {
				v.Node(p)
			}
		}
		at += max(size, 8)
	}
}

// savedAt visits the SavedVariable, or the vector of them, at an address. It returns its size, 0 if there is none. left
// is how many elements of vectors may still be looked at.
func (g Autograd) savedAt(at, end uint64, left *int, v autogradVisitor) uint64 {
	word := g.Word(at)
	if word != 0 && !isAddress(word) {
		return 0
	}
	for _, l := range &savedLayouts {
		if at+l.size <= end && g.isSaved(at, l) && !g.isEmpty(at, l) {
			g.visitSaved(at, l, v)
			return l.size
		}
		if word != 0 && at+24 <= end && g.areSaved(at, l, left) {
			for element := word; element < g.Word(at+8); element += l.size {
				g.visitSaved(element, l, v)
			}
			return 24
		}
	}
	return 0
}

// isSaved reports whether there is a SavedVariable at an address, also if it was never set or was given back.
func (g Autograd) isSaved(at uint64, l saved) bool {
	data, flags, hooks := g.Word(at), g.Word(at+l.flags), g.Word(at+l.hooks)
	const fiveBytes, lowestBits = 0xff_ffff_ffff, 0x01_0101_0101
	if flags&fiveBytes&^lowestBits != 0 || g.Word(at+l.size-8)&0xfe != 0 { // a byte that is no bool
		return false
	}
	isSet := func(flag int) bool { return flags>>(8*flag)&1 != 0 }
	const unset, original, leaf, output = 0, 2, 3, 4
	hasTensor := g.IsTensor(data)
	switch {
	case !hasTensor && data != 0 && !strings.Contains(g.Class(g.Word(data)), "UndefinedTensorImpl"):
		return false
	case (hasTensor || hooks != 0) && isSet(unset):
		return false
	case hasTensor && isSet(original) != (!isSet(output) || isSet(leaf)):
		return false
	case hooks != 0 && (!isAddress(hooks) || !strings.Contains(g.Class(g.Word(hooks)), "SavedVariableHooks")):
		return false
	case l.counter != 0 && g.Word(at+l.counter) != 0 &&
		!strings.Contains(g.Class(g.Word(g.Word(at+l.counter))), "VersionCounter"):
		return false
	}
	const forward, weak = 8, 24
	return g.isShared(at+forward) && g.isShared(at+weak) && g.isShared(at+l.graph) && g.isShared(at+l.adds)
}

// isShared reports whether a pointer with counts is there, or an empty one.
func (g Autograd) isShared(at uint64) bool {
	object, counts := g.Word(at), g.Word(at+8)
	return object == 0 && counts == 0 || isAddress(object) && g.isCounts(counts)
}

func (g Autograd) isEmpty(at uint64, l saved) bool {
	return !g.IsTensor(g.Word(at)) && g.Word(at+l.hooks) == 0
}

// areSaved reports whether there is a std::vector of SavedVariables, one of them with a tensor.
func (g Autograd) areSaved(at uint64, l saved, left *int) bool {
	begin, end, room := g.Word(at), g.Word(at+8), g.Word(at+16)
	if end <= begin || room < end || end-begin > UserSpace || (end-begin)%l.size != 0 || (room-begin)%l.size != 0 {
		return false
	}
	hasTensor := false
	for ; begin < end; begin += l.size {
		if *left--; *left < 0 || !g.isSaved(begin, l) {
			return false
		}
		hasTensor = hasTensor || !g.isEmpty(begin, l)
	}
	return hasTensor
}

// visitSaved visits the references of a SavedVariable: to its tensor, to nodes, and to the three Python objects of
// hooks (pack, unpack, and the packed value: python_saved_variable_hooks.h).
func (g Autograd) visitSaved(at uint64, l saved, v autogradVisitor) {
	if impl := g.Word(at); g.IsTensor(impl) {
		v.Tensor(impl)
	}
	if hooks := g.Word(at + l.hooks); hooks != 0 &&
		strings.HasSuffix(g.Class(g.Word(hooks)), "20PySavedVariableHooksE") {
		for i := uint64(1); i <= 3; i++ {
			if obj := g.Word(hooks + 8*i); isAddress(obj) {
				v.Object(obj)
			}
		}
	}
	if p, ok := g.NodeAt(at + l.graph); ok {
		v.Node(p)
	}
	if p, ok := g.NodeAt(at + l.adds); ok && l.holds {
		v.Node(p)
	}
}
