package objects

import "strings"

// saved are the places in a SavedVariable (saved_variable.h), and its size.
type saved struct {
	counter uint64 // the version counter; 0 for none
	flags   uint64 // five of a byte
	hooks   uint64 // an object with the Python functions that pack and unpack it
	graph   uint64 // the graph, where hooks have the tensor
	adds    uint64 // the node that adds up gradients; likewise
	holds   bool   // this one is held
	size    uint64
}

var savedLayouts = [...]saved{
	{counter: 40, flags: 56, hooks: 64, graph: 72, adds: 88, size: 112}, // 1.13
	{flags: 48, hooks: 56, graph: 64, adds: 80, holds: true, size: 104}, // 2.6
}

// Saved takes what is saved in a part of memory: in SavedVariables, and in vectors of these.
func (g Autograd) Saved(from, size uint64, v autogradVisitor) {
	left := maxSaved
	for at, end := from, from+min(size, maxNode); at+8 <= end; {
		at += max(g.savedAt(at, end, &left, v), 8)
	}
}

// rest takes what is saved in the part of a node that its class has, and other nodes that it shares.
func (g Autograd) rest(node, size uint64, v autogradVisitor) {
	left := maxSaved
	for at, end := node+nodeRest, node+size; at+8 <= end; {
		took := g.savedAt(at, end, &left, v)
		if p, ok := g.At(at); took == 0 && ok && at+16 <= end {
			took = 16
			if p.Node != node {
				v.Node(p)
			}
		}
		at += max(took, 8)
	}
}

// savedAt takes what is saved at an address, and returns its size: 0 for nothing. left is how many elements of vectors
// may still be looked at.
func (g Autograd) savedAt(at, end uint64, left *int, v autogradVisitor) uint64 {
	word := g.Word(at)
	if word != 0 && !isAddress(word) {
		return 0
	}
	for _, l := range &savedLayouts {
		if at+l.size <= end && g.isSaved(at, l) && !g.isEmpty(at, l) {
			g.take(at, l, v)
			return l.size
		}
		if word != 0 && at+24 <= end && g.areSaved(at, l, left) {
			for one := word; one < g.Word(at+8); one += l.size {
				g.take(one, l, v)
			}
			return 24
		}
	}
	return 0
}

// isSaved reports whether there is a SavedVariable. One that was never set, or was given back, is one as well.
func (g Autograd) isSaved(at uint64, l saved) bool {
	data, flags, hooks := g.Word(at), g.Word(at+l.flags), g.Word(at+l.hooks)
	const each = 0x01_0101_0101
	if flags&0xff_ffff_ffff&^each != 0 || g.Word(at+l.size-8)&0xfe != 0 {
		return false
	}
	is := func(flag int) bool { return flags>>(8*flag)&1 != 0 }
	const unset, original, leaf, output = 0, 2, 3, 4
	some := g.IsTensor(data)
	switch {
	case !some && data != 0 && !strings.Contains(g.Class(g.Word(data)), "UndefinedTensorImpl"):
		return false
	case (some || hooks != 0) && is(unset), some && is(original) != (!is(output) || is(leaf)):
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
	some := false
	for ; begin < end; begin += l.size {
		if *left--; *left < 0 || !g.isSaved(begin, l) {
			return false
		}
		some = some || !g.isEmpty(begin, l)
	}
	return some
}

// take takes the references of a SavedVariable: to its tensor, to the Python objects of hooks (pack, unpack, what was
// packed: python_saved_variable_hooks.h), and to nodes.
func (g Autograd) take(at uint64, l saved, v autogradVisitor) {
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
	if p, ok := g.At(at + l.graph); ok {
		v.Node(p)
	}
	if p, ok := g.At(at + l.adds); ok && l.holds {
		v.Node(p)
	}
}
