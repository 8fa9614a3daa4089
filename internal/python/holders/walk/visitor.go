package walk

import (
	"ipytracer/internal/python/holders/objects"
)

// Visitor has the purpose of a walk. The walker reads the references of objects, and its visitor draws the conclusions:
// a [Finder] looks for the holders of blocks, and a census notes everything. Other packages add up memory (variables),
// compare reference counts and look for one reference (paths), and gather the data of arrays (holders).
type Visitor interface {
	// Over reports whether there is nothing more to find. It is asked when a walk begins, and when the last block has
	// been found.
	Over() bool
	// Refer takes a reference of a kind that a node has, or a root (from is -1). It reports whether the reference led
	// to an object.
	Refer(from int32, to uint64, kind objects.Step, l Label) bool
	// Count counts a reference from a node, or from a root, to a node that is there; to is -1 where there was no room
	// for the node.
	Count(from, to int32)
	// Add makes a node, for an object with a number in the notes or -1. It returns -1 where there is no room.
	Add(from int32, addr uint64, id int32, l Label, what uint8) int32
}

// Steps of some visitors only. The walker leaves these out for the others.
type (
	// LeafTaker takes objects that refer to nothing.
	LeafTaker interface {
		// Alone takes a reference to an object. It reports whether the object refers to nothing and no other object
		// refers to it.
		Alone(from int32, to uint64) bool
		// Leaf takes a reference to an object that refers to nothing.
		Leaf(from int32, addr uint64, t *objects.Type)
		// LeafNoted does what Leaf does, for an object that a survey has noted.
		LeafNoted(from, id int32)
		// OwnBytes takes the bytes that only this node has. known is false where there may be more of them.
		OwnBytes(n int32, bytes uint64, known bool)
	}
	// ArrayTaker takes NumPy's arrays.
	ArrayTaker interface {
		// Array takes an array that is looked into, and where its data is.
		Array(n int32, addr, data uint64)
		// ArrayNoted does what Array does, for an array that a survey has noted.
		ArrayNoted(n int32, a objects.ArrayNote)
		// ReadsArrays reports whether arrays are looked into that a survey has noted.
		ReadsArrays() bool
	}
	// LibraryTaker takes the memory that objects of libraries have in C++.
	LibraryTaker interface {
		Library(n int32, obj uint64, t *objects.Type)
	}
	// recorder notes the steps that looking into objects takes.
	recorder interface {
		// record notes the steps of a visit.
		record(n int32, visit func())
		// step notes a step that is not about an object.
		step(kind objects.Step)
		// beginPart notes that the dict that follows will turn out to be a part of the object.
		beginPart()
		// part notes a part of the object.
		part(n int32)
		// isFrameNode reports whether a node is an interpreter's frame.
		isFrameNode(n int32) bool
		// visitQueue looks into the waiting nodes.
		visitQueue()
	}
	// gatherer takes words that may be references, before anybody knows whether they are.
	gatherer interface {
		guessed(key wordKey, inObject bool)
	}
)

// abilities are a visitor's steps beyond those of [Visitor]. A field is nil where the visitor does not take the step.
type abilities struct {
	leaves    LeafTaker
	Arrays    ArrayTaker
	libraries LibraryTaker
	recorder  recorder
	gatherer  gatherer
}

func abilitiesOf(v Visitor) (a abilities) {
	a.leaves, _ = v.(LeafTaker)
	a.Arrays, _ = v.(ArrayTaker)
	a.libraries, _ = v.(LibraryTaker)
	a.recorder, _ = v.(recorder)
	a.gatherer, _ = v.(gatherer)
	return a
}
