package objects

import "strings"

// Word reads 8 bytes; 0 where they cannot be read.
func (y *Types) Word(addr uint64) uint64 { return y.Mem.Word(addr) }

// Class returns the mangled name of a virtual table's class, "" if it is none. The Itanium C++ ABI has, in front of the
// address in an object's first word: the offset to the whole object, 0 here, and a std::type_info: its own virtual
// table, and the name.
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
	if len(name) < 2 || strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '*' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		name = ""
	}
	if len(y.Classes) >= most {
		clear(y.Classes)
	}
	y.Classes[table] = name
	return name
}

// MaxChunk is the largest piece of memory that is looked into, in bytes.
const MaxChunk = 1 << 16

// ChunkSize returns how many bytes malloc gave out at an address, 0 if that was not glibc's malloc or is too large to
// be looked into.
func (y *Types) ChunkSize(addr uint64) uint64 { return y.chunkUpTo(addr, MaxChunk) }

// chunkUpTo is chunkSize, with a limit of its own. The size is in front, and in front of the next piece is a bit that
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
