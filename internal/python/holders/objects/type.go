package objects

import "math"

// shape is the way in which an object of a type is looked into.
type shape uint8

const (
	ShapeWords shape = iota // every word that could be a pointer to an object
	ShapeLeaf               // nothing that leads to memory
	ShapeDict
	ShapeList
	ShapeTuple
	ShapeSet
	ShapeDeque
	ShapeType
	ShapeModule
	ShapeFunction
	ShapeCell
	ShapeFrame
	ShapeGenerator
	ShapeTraceback
	ShapeException
	ShapeWeak
	ShapeArray
)

// Type has the known facts of a type.
type Type struct {
	Addr          uint64
	firstBase     uint64 // its tp_base
	Name          string
	Flags         uint64
	Shape         shape
	Basic         uint64 // bytes of an instance
	Item          uint64 // and of each of its items
	FirstWord     uint64 // where words are looked at that the shape does not know
	base          uint64 // basic size of the built-in type that gave the shape
	Dict          int64  // where an instance has its __dict__, 0 for nowhere
	Weak          uint64 // where it has its weak references, 0 for nowhere
	members       []member
	HiddenBefore  uint64 // the collector does not visit references before this offset, see unvisited.go
	UnknownBefore uint64 // words before it are those of a type made in C: not known
	Native        bool   // made by a library in C or C++: it may have memory of its own
	Arrow         bool   // a class of pyarrow's, or derived from one
	Shell         bool   // IPython's shell, from which everything is reached
	Number        uint32 // in the notes of a survey, 0 for none
}

// Bounds of the reads of types and objects.
const (
	maxTypes   = 1 << 17 // kept, wrong ones included
	MaxName    = 128
	MaxText    = 192     // bytes of a function's and a file's name
	MaxAlso    = 8       // other names of an object
	MaxLocals  = 1 << 16 // of a frame
	maxBases   = 64
	maxMembers = 64
	MaxBasic   = 1 << 14 // bytes of an instance that are looked at
	MaxItems   = 1 << 16 // words of its items
)

// Borrowed are types with first words, up to this offset, that refer to objects without holding them: the links of the
// list of a cache's entries (lru_list_elem in Modules/_functoolsmodule.c).
var Borrowed = map[string]uint64{"functools._lru_cache_wrapper": 56, lruLink: 40}

// LruCache is a function with a cache around it.
const LruCache = "functools._lru_cache_wrapper"

// Recordable reports whether looking into objects of a type takes nothing but steps.
func (t *Type) Recordable() bool {
	switch t.Shape {
	case ShapeDict, ShapeList, ShapeTuple, ShapeSet, ShapeType, ShapeModule, ShapeFunction, ShapeCell, ShapeWeak,
		ShapeWords, ShapeArray:
		return !t.Native && t.UnknownBefore == 0
	}
	return false
}

// HidesAll is the HiddenBefore of a type that hides all references.
const HidesAll = math.MaxUint64

// lruLink is the type of the links of an lru_cache: the cache itself visits what they refer to.
const lruLink = "functools._lru_list_elem"

// HidesSome reports whether the collector visits a part of the references of a type's objects, so that it matters which
// of them a walk follows.
func (t *Type) HidesSome() bool {
	return t.HiddenBefore != 0 && t.HiddenBefore != HidesAll && (t.Shape == ShapeArray || t.Shape == ShapeWords &&
		t.FirstWord < t.HiddenBefore)
}
