package holders

// visitor has the purpose of a walk. The walker reads the references of objects, and its visitor draws the conclusions:
// a [finder] looks for the holders of blocks, a [survey] notes everything, [extents] add up memory, [counts] compare
// reference counts, a [seek] looks for one reference, and [owned] gathers the data of arrays.
type visitor interface {
	// over reports whether there is nothing more to find. It is asked when a walk begins, and when the last block has
	// been found.
	over() bool
	// refer takes a reference of a kind that a node has, or a root (from is -1). It reports whether the reference led
	// to an object.
	refer(from int32, to uint64, kind step, l label) bool
	// count counts a reference from a node, or from a root, to a node that is there; to is -1 where there was no room
	// for the node.
	count(from, to int32)
	// add makes a node, for an object with a number in the notes or -1. It returns -1 where there is no room.
	add(from int32, addr uint64, id int32, l label, what uint8) int32
}

// Steps of some visitors only. The walker leaves these out for the others.
type (
	// leafTaker takes objects that refer to nothing.
	leafTaker interface {
		// alone takes a reference to an object, and reports whether that one refers to nothing and no other object has
		// it.
		alone(from int32, to uint64) bool
		// leaf takes a reference to an object that refers to nothing.
		leaf(from int32, addr uint64, t *typ)
		// leafNoted is leaf for an object that a survey has noted.
		leafNoted(from, id int32)
		// ownBytes takes bytes that only a node has; known is false where it may be more.
		ownBytes(n int32, bytes uint64, known bool)
	}
	// arrayTaker takes NumPy's arrays.
	arrayTaker interface {
		// array takes an array that is looked into, and where its data is.
		array(n int32, addr, data uint64)
		// arrayNoted is array for one that a survey has noted.
		arrayNoted(n int32, a arrayNote)
		// readsArrays reports whether arrays are looked into that a survey has noted.
		readsArrays() bool
	}
	// libraryTaker takes the memory that objects of libraries have in C++.
	libraryTaker interface {
		library(n int32, obj uint64, t *typ)
	}
	// recorder notes the steps that looking into objects takes.
	recorder interface {
		// record notes the steps of a visit.
		record(n int32, visit func())
		// step notes a step that is not about an object.
		step(kind step)
		// begin notes that the dict that follows will turn out to be a part of the object.
		begin()
		// part notes a part of the object.
		part(n int32)
		// isFrameNode reports whether a node is an interpreter's frame.
		isFrameNode(n int32) bool
		// visitQueue looks into the waiting nodes.
		visitQueue()
	}
	// gatherer takes words that may be references, before anybody knows whether they are.
	gatherer interface {
		guessed(key guessKey, inObject bool)
	}
)

// The further steps of the visitors here. Those of others are named where these are.
var (
	_, _ visitor      = (*finder)(nil), (*survey)(nil)
	_, _ arrayTaker   = (*finder)(nil), (*survey)(nil)
	_    libraryTaker = (*finder)(nil)
	_    recorder     = (*survey)(nil)
	_    gatherer     = (*survey)(nil)
)

// abilities are the further steps of a visitor; nil for those that it does not take.
type abilities struct {
	leaves    leafTaker
	arrays    arrayTaker
	libraries libraryTaker
	recorder  recorder
	gatherer  gatherer
}

func abilitiesOf(v visitor) (a abilities) {
	a.leaves, _ = v.(leafTaker)
	a.arrays, _ = v.(arrayTaker)
	a.libraries, _ = v.(libraryTaker)
	a.recorder, _ = v.(recorder)
	a.gatherer, _ = v.(gatherer)
	return a
}
