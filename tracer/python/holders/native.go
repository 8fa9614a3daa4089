package holders

import (
	"encoding/binary"
	"strings"
)

// chunk is a piece of memory that malloc gave out, on the way from an object of Python's.
type chunk struct {
	addr, size uint64
	node       int32 // the object
	hops       uint8 // from there, up to nearHops + 1
	plain      bool  // nothing is known of what it is: only references to objects of Python's are looked for
	storage    bool  // it is a c10::StorageImpl
	numbers    span  // words that are no references
}

// span is a part of an object, in bytes from its beginning; the zero value is none.
type span struct{ from, to int }

const (
	// nearHops is how far an object's own memory is looked into at once: a tensor refers to its implementation, that to a
	// storage, that to the block. What is further away, such as gradients and what a graph has saved for backward,
	// other objects may hold more directly: it waits until every object that the roots lead to has been looked into.
	nearHops = 2
	// maxChunk is the largest piece that is looked into, in bytes.
	maxChunk = 1 << 16
)

// visitNative looks into what an object of a library in C or C++ has of its own on the heap. What C++ objects are tells
// their run-time type information; so those are followed that have a virtual table, and vectors of pointers. What else
// there is, such as an allocator's lists, holds nothing for the object.
func (w *walker) visitNative(n int32, addr, size uint64) {
	var near []chunk
	w.mem.words(addr+16, (size-16)/8, func(_, word uint64) bool {
		if c, ok := w.object(n, word, 1); ok {
			near = append(near, c)
		} else if size := w.chunkSize(word); size > 0 && w.isNew(word) && w.objectType(word) == nil {
			near = append(near, chunk{addr: word, size: size, node: n, hops: 1, plain: true})
		}
		return !w.done()
	})
	for len(near) > 0 && !w.done() {
		c := near[0]
		near = near[1:]
		for _, next := range w.visitChunk(c) {
			if next.hops <= nearHops {
				near = append(near, next)
			} else {
				w.far = append(w.far, next)
			}
		}
	}
}

// visitFar looks into the pieces of memory that are further away, and into the objects that are found there.
func (w *walker) visitFar() {
	for len(w.far) > 0 && !w.done() {
		c := w.far[0]
		w.far = w.far[1:]
		if !w.isNew(c.addr) {
			continue // another object that came later has it nearby
		}
		w.far = append(w.far, w.visitChunk(c)...)
		w.visitQueue()
	}
}

// visitChunk looks at every word of a piece of memory, and returns the pieces that it refers to.
func (w *walker) visitChunk(c chunk) (next []chunk) {
	raw := append([]byte(nil), w.mem.bytes(c.addr, int(c.size))...)
	word := func(at int) uint64 {
		if at+8 > len(raw) {
			return 0
		}
		return binary.LittleEndian.Uint64(raw[at:])
	}
	for at := 0; at+8 <= len(raw) && !w.done(); at += 8 {
		first := word(at)
		if first < lowestAddress || at >= c.numbers.from && at < c.numbers.to {
			continue
		}
		if !c.plain && w.pointsAt(c.node, first, false) {
			if c.storage {
				w.storageAsks(first, word(at+dataPointer))
			}
			continue
		}
		if c.plain {
			w.followBelieved(c.node, first, label{}, false)
			continue
		}
		if w.maybeFollow(c.node, first, label{}, false) {
			continue
		}
		hops := min(c.hops, nearHops) + 1
		if one, ok := w.object(c.node, first, hops); ok {
			next = append(next, one)
		} else if one, ok := w.vector(c.node, first, word(at+8), word(at+16), hops); ok {
			next = append(next, one)
		}
	}
	return next
}

// dataPointer is the size of a c10::DataPtr: the data, what owns it, how to free it, the device. Behind it a storage has
// how many bytes it was asked for (c10/core/StorageImpl.h, PyTorch 1.0 to 2.11).
const dataPointer = 32

// storageAsks notes how many bytes of a block a storage was asked for, if that is possible.
func (w *walker) storageAsks(block, bytes uint64) {
	if i := w.blockAt(block); i >= 0 && bytes > 0 && bytes <= w.blocks[i].Size {
		w.asked[i] = bytes
	}
}

// isNew says whether a piece of memory has not been looked into, and notes that it is.
func (w *walker) isNew(addr uint64) bool {
	if w.raw[addr] || len(w.raw) >= w.limits.Objects {
		return false
	}
	w.raw[addr] = true
	return true
}

// takes says whether a piece of memory is to be looked into that has been reached so many hops from its object: one that is nearby at once, if it has
// not been. One further away is only noted: until its turn comes, another object may turn out to have it nearby.
func (w *walker) takes(addr uint64, hops uint8) bool {
	if hops <= nearHops {
		return w.isNew(addr)
	}
	if w.raw[addr] || w.awaited[addr] || len(w.awaited) >= w.limits.Objects {
		return false
	}
	w.awaited[addr] = true
	return true
}

// object returns the memory of the C++ object at an address; ok is false if there is none, or it was looked into before.
func (w *walker) object(n int32, addr uint64, hops uint8) (c chunk, ok bool) {
	if addr&7 != 0 || addr < lowestAddress || addr >= userSpace || w.raw[addr] {
		return c, false
	}
	class := w.class(w.mem.word(addr))
	if class == "" {
		return c, false
	}
	const shared = 16 // std::make_shared puts its counts in front
	size := w.chunkSize(addr)
	if size > wordSize && endsInNumbers(class) {
		size -= wordSize
	}
	if size == 0 {
		size = max(w.chunkSize(addr-shared), shared) - shared
	}
	if size == 0 && strings.HasPrefix(class, "N3c10") { // not from glibc's malloc: what is known of these two
		const tensor, storage = 64, 48
		if strings.Contains(class, "TensorImpl") {
			size = tensor
		} else if strings.Contains(class, "StorageImpl") {
			size = storage
		}
	}
	c = chunk{addr: addr, size: size, node: n, hops: hops, storage: strings.Contains(class, "StorageImpl"), numbers: numbersOf(class)}
	return c, size > 0 && w.takes(addr, hops)
}

// wordSize is how much malloc may have given an object beyond its end, in bytes: that is of whoever had the piece before.
const wordSize = 8

// endsInNumbers says whether the last word of a class is no reference, as PyTorch's are that each tensor has: c10::TensorImpl ends in flags and keys,
// c10::StorageImpl in its allocator, torch::autograd::AutogradMeta and what is derived from it in flags (PyTorch 1.0 to 2.11). So what lies in the
// last word of the piece is either that, or somebody else's address: taken for a reference it has named a list of tensors as the holder of another's.
func endsInNumbers(class string) bool {
	return strings.HasPrefix(class, "N3c10") && (strings.Contains(class, "TensorImpl") || strings.Contains(class, "StorageImpl")) ||
		isAutogradMeta(class)
}

// numbersOf returns where a PyTorch object that each tensor has keeps what is no reference, and is in part never written: there lies what the piece of
// memory had before, such as the address of a block that was given back and is another tensor's now. A c10::TensorImpl has its sizes and strides, room
// for five of each, and counts there, behind the references of any version; torch::autograd::AutogradMeta, and what is derived from it, the
// std::string of a name (PyTorch 1.0 to 2.11).
func numbersOf(class string) span {
	switch {
	case strings.Contains(class, "TensorImpl"): // or derived from it
		return span{72, 176}
	case isAutogradMeta(class):
		return span{8, 40}
	}
	return span{}
}

func isAutogradMeta(class string) bool {
	return strings.HasPrefix(class, "N5torch8autograd") && strings.HasSuffix(class, "MetaE")
}

// vector returns the memory of a std::vector: three pointers, to its begin, its end, and the end of what is reserved.
func (w *walker) vector(n int32, begin, end, reserved uint64, hops uint8) (c chunk, ok bool) {
	if begin&15 != 0 || end <= begin || reserved < end || reserved-begin > maxChunk || (end-begin)%8 != 0 {
		return c, false
	}
	return chunk{addr: begin, size: end - begin, node: n, hops: hops}, w.chunkSize(begin) >= reserved-begin && w.takes(begin, hops)
}

// class returns the mangled name of the class that a virtual table is of, "" if it is none. The Itanium C++ ABI has, in
// front of where an object's first word points: the offset to the whole object, 0 here, and a std::type_info: its own
// virtual table, and the name.
func (w *walker) class(table uint64) string {
	const most = 1 << 16
	if table&7 != 0 || table < lowestAddress || table >= userSpace {
		return ""
	}
	name, ok := w.classes[table]
	if ok {
		return name
	}
	if info := w.mem.word(table - 8); w.mem.word(table-16) == 0 && info&7 == 0 && w.mem.word(info) != 0 {
		name = w.mem.cString(w.mem.word(info+8), maxName)
	}
	if len(name) < 2 || strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '*' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		name = ""
	}
	if len(w.classes) >= most {
		clear(w.classes)
	}
	w.classes[table] = name
	return name
}

// chunkSize returns how many bytes malloc gave out at an address, 0 if that was not glibc's malloc or is too large: the
// size is in front, and in front of the next piece is a bit that says that this one is in use (malloc/malloc.c).
func (w *walker) chunkSize(addr uint64) uint64 {
	const inUse, mapped, flags, smallest = 1, 2, 7, 32
	if addr&15 != 0 || addr < lowestAddress || addr >= userSpace {
		return 0
	}
	head := w.mem.word(addr - 8)
	size := head &^ flags
	if size < smallest || size&15 != 0 || size > maxChunk || head&mapped != 0 {
		return 0
	}
	next := w.mem.word(addr - 8 + size)
	if next&inUse == 0 || next&^flags < 16 || next&8 != 0 {
		return 0
	}
	return size - 8
}
