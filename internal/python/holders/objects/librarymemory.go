package objects

// A library in C or C++ has memory of its own behind its objects: an image's pixels, tables of hashes, the nodes of a
// tree. No layout is known. But few words have the address at which malloc gave out a large piece. Where such a word
// lies in an object, or in a small piece of malloc's that the object refers to, and no other object has it, the piece
// is the object's. A library may only borrow it, so sizes with it are never known to be all or right.

// LibraryMemory is the memory of libraries' objects.
type LibraryMemory struct {
	Of map[uint64][]Block // the pieces of each object, by its address

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

// hiding notes an object of a library.
func (f *LibraryMemory) hiding(addr uint64) {
	if f.Collects && len(f.Objects) <= MaxForeign {
		f.Objects = append(f.Objects, addr)
	}
}

// buffer notes a buffer of a known object.
func (f *LibraryMemory) buffer(addr, size uint64) {
	if f.Collects && size >= LeastLarge && len(f.Buffers) <= MaxLargeBuffers {
		f.Buffers = append(f.Buffers, addr)
	}
}

// foreignSize returns the bytes of a library's object that lie in pieces of malloc's.
func (s *Sizer) foreignSize(addr uint64) (bytes uint64) {
	for _, piece := range s.Sizes.Foreign.Of[addr] {
		if s.PieceSize(piece.Address) == piece.Size {
			s.Sizes.place(piece.Address, piece.Size)
			bytes += piece.Size
		}
	}
	return bytes
}

// PieceSize returns how many bytes malloc gave out at an address, 0 if that was not glibc's malloc. A piece that was
// mapped by itself has a size of whole pages and a mark. Others lie in the heap before the program's break, or, with
// another mark, in an arena's: that begins at a multiple of 64 MiB, with a pointer to the arena, which lies behind the
// beginning of the first of its heaps (malloc/malloc.c, malloc/arena.c; the same in glibc 2.17 to 2.41).
func (s *Sizer) PieceSize(addr uint64) uint64 {
	const mapped, arena, flags, head, heapSize = 2, 4, 7, 16, 64 << 20
	if addr&15 != 0 || addr < LowestAddress || addr >= UserSpace {
		return 0
	}
	word := s.Mem.Word(addr - 8)
	size := word &^ flags
	if word&mapped != 0 {
		if word&arena != 0 || addr&(PageSize-1) != head || size&(PageSize-1) != 0 || s.Mem.Word(addr-head) != 0 ||
			!s.Sizes.HasMapped(addr-head, size) {
			return 0
		}
		return size - head
	}
	within := s.Sizes.Heap
	if word&arena != 0 {
		within = Block{addr &^ (heapSize - 1), heapSize}
		first := s.Mem.Word(within.Address) &^ (heapSize - 1)
		if first < LowestAddress || s.Mem.Word(first)&^(heapSize-1) != first {
			return 0
		}
	}
	if at := addr - head - within.Address; at >= within.Size || size > within.Size-at {
		return 0
	}
	return s.chunkUpTo(addr, UserSpace)
}
