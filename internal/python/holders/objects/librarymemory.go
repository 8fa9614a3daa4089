package objects

// A library in C or C++ has memory of its own behind its objects: an image's pixels, tables of hashes, the nodes of a
// tree. No layout is known. But few words have the address at which malloc gave out a large piece. Where such a word
// lies in an object, or in a small piece of malloc's that the object refers to, and no other object has it, the piece
// is the object's. The library may only borrow that piece, so a size that includes it is never certain.

// LibraryMemory is the memory of libraries' objects.
type LibraryMemory struct {
	Pieces map[uint64][]Block // the pieces of each object, by its address

	// While a survey runs:
	Collects bool
	Objects  []uint64 // that may have memory of their own
	Buffers  []uint64 // large buffers of known objects, which are nobody else's
}

// Bounds of a search for memory of libraries.
const (
	MaxForeign      = 1 << 16 // objects: with more of them nothing is found
	MaxLargeBuffers = 1 << 20
)

// addObject notes an object of a library, which may have memory that it does not show.
func (f *LibraryMemory) addObject(addr uint64) {
	if f.Collects && len(f.Objects) <= MaxForeign {
		f.Objects = append(f.Objects, addr)
	}
}

// addBuffer notes a large buffer of a known object.
func (f *LibraryMemory) addBuffer(addr, size uint64) {
	if f.Collects && size >= LeastLarge && len(f.Buffers) <= MaxLargeBuffers {
		f.Buffers = append(f.Buffers, addr)
	}
}
