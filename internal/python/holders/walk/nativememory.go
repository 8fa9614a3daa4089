package walk

import (
	"encoding/binary"
	"strings"

	"ipytracer/internal/python/holders/objects"
)

// visitNative looks into the heap memory that an object of a library in C or C++ refers to: C++ objects with a virtual
// table, as run-time type information shows their class, vectors of pointers, and pieces of an unknown kind. In the
// last it follows only words that the census believes.
func (v Visits) visitNative(n int32, addr, size uint64) {
	var near []chunk
	v.Mem.Words(addr+16, (size-16)/8, func(_, word uint64) bool {
		if c, ok := v.object(n, word, 1); ok {
			near = append(near, c)
		} else if size := v.ChunkSize(word); size > 0 && v.pieces.isNew(word) && v.ObjectType(word) == nil {
			near = append(near, chunk{addr: word, size: size, node: n, hops: 1, plain: true})
		}
		return !v.Done()
	})
	for len(near) > 0 && !v.Done() {
		c := near[0]
		near = near[1:]
		for _, next := range v.visitChunk(c) {
			if next.hops <= nearHops {
				near = append(near, next)
			} else {
				v.pieces.far = append(v.pieces.far, next)
			}
		}
	}
}

// visitChunk follows every word of a piece of memory, and returns the pieces that it refers to.
func (v Visits) visitChunk(c chunk) (next []chunk) {
	raw := append([]byte(nil), v.Mem.Bytes(c.addr, int(c.size))...)
	word := func(at int) uint64 {
		if at+8 > len(raw) {
			return 0
		}
		return binary.LittleEndian.Uint64(raw[at:])
	}
	for at := 0; at+8 <= len(raw) && !v.Done(); at += 8 {
		first := word(at)
		if first < objects.LowestAddress || at >= c.numbers.from && at < c.numbers.to {
			continue
		}
		if !c.plain && v.pointsAt(c.node, first, false) {
			if c.storage {
				v.storageAsks(first, word(at+objects.DataPointer))
			}
			continue
		}
		if c.plain {
			v.followBelieved(c.node, first, Label{}, false)
			continue
		}
		if v.maybeFollow(c.node, first, Label{}, false) {
			continue
		}
		hops := min(c.hops, nearHops) + 1
		if object, ok := v.object(c.node, first, hops); ok {
			next = append(next, object)
		} else if vector, ok := v.vector(c.node, first, word(at+8), word(at+16), hops); ok {
			next = append(next, vector)
		}
	}
	return next
}

// object returns the memory of the C++ object at an address; ok is false if there is no object, or if it was looked
// into before.
func (v Visits) object(n int32, addr uint64, hops uint8) (c chunk, ok bool) {
	if addr&7 != 0 || addr < objects.LowestAddress || addr >= objects.UserSpace || v.pieces.met[addr] {
		return c, false
	}
	class := v.Class(v.Mem.Word(addr))
	if class == "" {
		return c, false
	}
	const shared = 16 // std::make_shared puts its counts in front
	size := v.ChunkSize(addr)
	if size > wordSize && endsInNumbers(class) {
		size -= wordSize
	}
	if size == 0 {
		size = max(v.ChunkSize(addr-shared), shared) - shared
	}
	if size == 0 && strings.HasPrefix(class, "N3c10") { // not from glibc's malloc: the sizes of these two are known
		const tensor, storage = 64, 48
		if strings.Contains(class, "TensorImpl") {
			size = tensor
		} else if strings.Contains(class, "StorageImpl") {
			size = storage
		}
	}
	c = chunk{addr: addr, size: size, node: n, hops: hops, storage: strings.Contains(class, "StorageImpl"),
		numbers: numbersOf(class)}
	return c, size > 0 && v.pieces.isDue(addr, hops)
}

// wordSize is the size of the word that malloc may have given an object beyond its end. The word has old contents.
const wordSize = 8

// endsInNumbers reports whether the last word of a class's objects is no reference. c10::TensorImpl ends in flags and
// keys, c10::StorageImpl in its allocator, torch::autograd::AutogradMeta and classes derived from it in flags (PyTorch
// 1.0 to 2.11). The last word of malloc's piece is then this word, or an old address. An old address must not be taken
// for a reference: one has made a list of tensors the holder of another list's tensors.
func endsInNumbers(class string) bool {
	return strings.HasPrefix(class, "N3c10") &&
		(strings.Contains(class, "TensorImpl") || strings.Contains(class, "StorageImpl")) ||
		objects.IsAutogradMeta(class)
}

// numbersOf returns the bytes of a C++ object of this class that never contain references: the walk leaves them out.
// PyTorch does not write all of them, so they can have stale pointers from an earlier use of the memory, such as the
// address of a freed block that another tensor has since got. In c10::TensorImpl they are sizes and strides, with room
// for five of each, and counts, behind the references of any version. In torch::autograd::AutogradMeta, and classes
// derived from it, they are the std::string of the name (PyTorch 1.0 to 2.11).
func numbersOf(class string) span {
	switch {
	case strings.Contains(class, "TensorImpl"): // or derived from it
		return span{72, 176}
	case objects.IsAutogradMeta(class):
		return span{8, 40}
	}
	return span{}
}

// vector returns the memory of a std::vector: three pointers, to its begin, its end, and the end of its reserved
// memory.
func (v Visits) vector(n int32, begin, end, reserved uint64, hops uint8) (c chunk, ok bool) {
	if begin&15 != 0 || end <= begin || reserved < end || reserved-begin > objects.MaxChunk || (end-begin)%8 != 0 {
		return c, false
	}
	return chunk{addr: begin, size: end - begin, node: n, hops: hops}, v.ChunkSize(begin) >= reserved-begin &&
		v.pieces.isDue(begin, hops)
}

// PythonsOf follows the Python objects that a buffer of pyarrow's refers to. It reports whether there is one.
func PythonsOf(w *Walker, n int32, object, bytes uint64) (found bool) {
	if bytes < 16 || !strings.HasPrefix(w.Class(w.Mem.Word(object)), "N5arrow2py") {
		return false
	}
	w.Mem.Words(object+8, (bytes-8)/8, func(_, to uint64) bool {
		if t := w.ObjectType(to); to&7 == 0 && t != nil && w.IsLikely(to, t) {
			found = w.Follow(n, to, Label{}) || found
		}
		return !w.Done()
	})
	return found
}
