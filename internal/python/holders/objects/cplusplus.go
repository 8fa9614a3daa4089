package objects

import "strings"

// Word reads 8 bytes; 0 where they cannot be read.
func (y *Types) Word(addr uint64) uint64 { return y.Mem.Word(addr) }

// Class returns the mangled name of the class with a virtual table, "" if there is no such table at the address. In
// front of it the Itanium C++ ABI has the offset to the whole object, 0 here, and the address of a std::type_info,
// which has its own virtual table and the name.
func (y *Types) Class(table uint64) string {
	const most = 1 << 16
	if table&7 != 0 || table < LowestAddress || table >= UserSpace {
		return ""
	}
	name, ok := y.Classes[table]
	if ok {
		return name
	}
	if info := y.Mem.Word(table - 8); y.Mem.Word(table-16) == 0 && info&7 == 0 && y.Mem.Word(info) != 0 {
		name = y.Mem.cString(y.Mem.Word(info+8), MaxName)
	}
	if len(name) < 2 || strings.ContainsFunc(name, isNotMangled) {
		name = ""
	}
	if len(y.Classes) >= most {
		clear(y.Classes)
	}
	y.Classes[table] = name
	return name
}

// isNotMangled reports whether no mangled name has a character.
func isNotMangled(r rune) bool {
	return r != '_' && r != '*' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// MaxChunk is the largest piece of memory that is looked into, in bytes.
const MaxChunk = 1 << 16

// ChunkSize returns how many bytes malloc gave out at an address, 0 if that was not glibc's malloc or is too large to
// be looked into.
func (y *Types) ChunkSize(addr uint64) uint64 { return y.chunkUpTo(addr, MaxChunk) }

// chunkUpTo is [Types.ChunkSize] with another limit. The size is in front, and in front of the next piece is a bit that
// marks this one as in use (malloc/malloc.c).
func (y *Types) chunkUpTo(addr, most uint64) uint64 {
	const inUse, mapped, flags, smallest = 1, 2, 7, 32
	if addr&15 != 0 || addr < LowestAddress || addr >= UserSpace {
		return 0
	}
	head := y.Mem.Word(addr - 8)
	size := head &^ flags
	if size < smallest || size&15 != 0 || size > most || head&mapped != 0 {
		return 0
	}
	next := y.Mem.Word(addr - 8 + size)
	if next&inUse == 0 || next&^flags < 16 || next&8 != 0 {
		return 0
	}
	return size - 8
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
