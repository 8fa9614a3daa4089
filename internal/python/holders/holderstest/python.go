// Package holderstest makes up the memory of a Python, for tests of packages that read objects. Only tests import it.
package holderstest

import (
	"encoding/binary"
	"fmt"
	"testing"

	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/python/cpython"
)

// Python is the made-up memory of a Python, as far as a walk reads it. It has the layout of a version, and begins at
// [Base].
type Python struct {
	Heap  cpython.Heap
	Mem   []byte
	Types map[string]uint64 // addresses, by name
	Block uint64            // the address of the block that an array has
}

// Base is the address of the first byte.
const Base = 0x100000

const (
	pageSize      = 4 << 10
	collectorHead = 16 // bytes in front of an object
)

// Memory returns the memory up to the end of its last page.
func (f *Python) Memory() elftest.Memory {
	return elftest.Memory{Base: Base, Bytes: append(f.Mem[:len(f.Mem):len(f.Mem)],
		make([]byte, pageSize-len(f.Mem)%pageSize)...)}
}

// Alloc makes room for size bytes, and returns their address.
func (f *Python) Alloc(size int) uint64 {
	addr := Base + uint64(len(f.Mem))
	f.Mem = append(f.Mem, make([]byte, (size+15)&^15)...)
	return addr
}

// Put writes 8 bytes.
func (f *Python) Put(addr, v uint64) { binary.LittleEndian.PutUint64(f.Mem[addr-Base:], v) }

// CString makes a text that ends with a NUL.
func (f *Python) CString(s string) uint64 {
	addr := f.Alloc(len(s) + 1)
	copy(f.Mem[addr-Base:], s)
	return addr
}

// Type makes a type.
func (f *Python) Type(name string, basic, item int, flags uint64) {
	const size = 960
	t := f.Alloc(size)
	f.Types[name] = t
	f.Put(t, 1)
	f.Put(t+8, f.Types["type"])
	f.Put(t+24, f.CString(name))
	f.Put(t+cpython.TypeBasicSize, uint64(basic))
	f.Put(t+cpython.TypeItemSize, uint64(item))
	f.Put(t+cpython.TypeFlags, flags)
}

// Object makes an object with the words behind its header.
func (f *Python) Object(typ string, words ...uint64) uint64 {
	const head = 16 // the garbage collector's
	size := 16 + 8*len(words)
	addr := f.Alloc(head+max(size, 96)) + head
	f.Put(addr, 1)
	f.Put(addr+8, f.Types[typ])
	for i, w := range words {
		f.Put(addr+16+uint64(8*i), w)
	}
	return addr
}

// Str makes an ASCII str.
func (f *Python) Str(s string) uint64 {
	addr := f.Object("str", make([]uint64, 16+len(s)/8)...)
	f.Put(addr+uint64(f.Heap.StrLength), uint64(len(s)))
	f.Mem[addr+uint64(f.Heap.StrState)-Base] = 1<<2 | 3<<5
	copy(f.Mem[addr+uint64(f.Heap.ASCIIData)-Base:], s)
	return addr
}

// List makes a list.
func (f *Python) List(items ...uint64) uint64 {
	data := f.Alloc(8 * len(items))
	for i, item := range items {
		f.Put(data+uint64(8*i), item)
	}
	return f.Object("list", uint64(len(items)), data, uint64(len(items)))
}

// Tuple makes a tuple.
func (f *Python) Tuple(items ...uint64) uint64 {
	addr := f.Object("tuple", make([]uint64, 2+len(items))...)
	f.Put(addr+16, uint64(len(items)))
	for i, item := range items {
		f.Put(addr+uint64(f.Heap.TupleItems)+uint64(8*i), item)
	}
	return addr
}

// Dict makes a dict of keys and values in turn. Its table has a header, an index of one byte for each slot, and the
// entries (PyDictKeysObject).
func (f *Python) Dict(pairs ...uint64) uint64 {
	const log2, slots = 4, 16
	isOld := f.Heap.Version.Minor <= 10
	header, entrySize, keyOffset := 32, 16, 0 // since Python 3.11: an entry is a key and a value
	if isOld {
		header, entrySize, keyOffset = 40, 24, 8 // a hash comes before the key
	}
	count := len(pairs) / 2
	table := f.Alloc(header + slots + count*entrySize)
	if isOld {
		f.Put(table+8, slots)
		f.Put(table+32, uint64(count))
	} else {
		copy(f.Mem[table+8-Base:], []byte{log2, log2, 1})
		f.Put(table+24, uint64(count))
	}
	for i := range count {
		key := table + uint64(header+slots+i*entrySize+keyOffset)
		f.Put(key, pairs[2*i])
		f.Put(key+8, pairs[2*i+1])
	}
	return f.Object("dict", 0, 0, table, 0)
}

// Array makes an array with the data at Block.
func (f *Python) Array() uint64 { return f.Object("numpy.ndarray", f.Block, 1, 0, 0, 0, 0, 0, 0) }

// New makes a process with an object of each type in __main__. All of them lead to an array.
func New(minor int) *Python {
	f := &Python{Heap: cpython.Version{Major: 3, Minor: minor, Micro: -1}.Heap(), Types: map[string]uint64{}}
	f.Block = 0x7000_0000_0000
	f.Heap.Interpreter = f.Alloc(int(max(f.Heap.InterpModules, f.Heap.InterpThreadsHead, f.Heap.InterpGC)) + 512)
	f.Type("type", 424, 40, cpython.FlagType|cpython.FlagGC)
	f.Put(f.Types["type"]+8, f.Types["type"])
	for name, flags := range map[string]uint64{
		"dict": cpython.FlagDict, "list": cpython.FlagList, "tuple": cpython.FlagTuple, "str": cpython.FlagStr,
		"int": cpython.FlagInt,
	} {
		f.Type(name, 48, 8, flags)
	}
	for _, name := range []string{"set", "collections.deque", "module", "function", "cell", "frame", "generator",
		"traceback", "weakref", "numpy.ndarray", "code", "other.Native"} {
		f.Type(name, 80, 0, 0)
	}
	f.Type("Instance", 16, 0, cpython.FlagHeapType|cpython.FlagManagedDict|cpython.FlagInlineValues)
	leaf := f.Array()
	items := []uint64{f.Str("name"), f.Tuple(f.List(f.Dict(f.Str("key"), leaf)))}
	items = append(items, f.Object("set", 0, 1, 0, f.Alloc(32)), f.Object("weakref", leaf))
	block := f.Alloc(8 * 66)
	items = append(items, f.Object("collections.deque", 1, block, block, 0, 0))
	names := f.Tuple(f.Str("a"), f.Str("b"))
	code := f.Object("code", make([]uint64, 30)...)
	f.Put(code+uint64(f.Heap.CodeLocalNames), names)
	f.Put(code+uint64(f.Heap.CodeLocals), 2)
	for _, name := range []string{"function", "cell", "frame", "generator", "traceback", "other.Native", "Instance"} {
		obj := f.Object(name, make([]uint64, 60)...)
		for i := range uint64(8) {
			f.Put(obj+16+8*i, items[int(i)%len(items)])
		}
		items = append(items, obj)
	}
	frame := f.Alloc(512)
	f.Put(frame+uint64(f.Heap.FrameCode), code)
	f.Put(frame+uint64(f.Heap.FrameBack), frame) // a circle
	f.Put(frame+uint64(f.Heap.FrameLocals), leaf)
	thread := f.Alloc(1024)
	f.Put(thread+uint64(f.Heap.ThreadFrame), frame)
	f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpThreadsHead), thread)
	f.Put(thread+uint64(f.Heap.ThreadNext), thread)
	main := f.Object("module", f.Dict(f.Str("first"), f.List(items...), f.Str("Out"), f.Dict(f.Str("k"), f.List()),
		f.Str("x"), items[1]))
	sys := f.Object("module", f.Dict(f.Str("last_value"), items[len(items)-1]))
	f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpModules), f.Dict(f.Str("__main__"), main, f.Str("sys"), sys))
	return f
}

// Word reads 8 bytes.
func (f *Python) Word(addr uint64) uint64 { return binary.LittleEndian.Uint64(f.Mem[addr-Base:]) }

// Main gives __main__ these names and values in turn, and removes all other modules.
func (f *Python) Main(pairs ...any) {
	var words []uint64
	for i := 0; i < len(pairs); i += 2 {
		words = append(words, f.Str(pairs[i].(string)), pairs[i+1].(uint64))
	}
	f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpModules),
		f.Dict(f.Str("__main__"), f.Object("module", f.Dict(words...))))
}

// Refs gives an object a reference count, and returns the object.
func (f *Python) Refs(obj uint64, n uint64) uint64 {
	f.Put(obj, n)
	return obj
}

// Unknown makes an object of a library's type, with these words, whose meaning is not known, behind the header.
func (f *Python) Unknown(words ...uint64) uint64 { return f.Object("other.Native", words...) }

// Program makes the modules __main__ and lib of names and values in turn, and removes all threads.
func (f *Python) Program(main, module []uint64) {
	f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpModules),
		f.Dict(f.Str("__main__"), f.Object("module", f.Dict(main...)), f.Str("lib"),
			f.Object("module", f.Dict(module...))))
	f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpThreadsHead), 0)
}

// Collect puts objects into a list of the garbage collector.
func (f *Python) Collect(objs ...uint64) {
	ring := []uint64{f.Heap.Interpreter + uint64(f.Heap.InterpGC) + 32}
	for _, obj := range objs {
		ring = append(ring, obj-collectorHead)
	}
	f.Put(f.Types["list"]+cpython.TypeFlags, cpython.FlagGC|f.Word(f.Types["list"]+cpython.TypeFlags))
	for i, at := range ring {
		f.Put(at, ring[(i+1)%len(ring)])
		f.Put(at+8, ring[(i+len(ring)-1)%len(ring)])
	}
}

// Chain makes count nodes with link, each of which leads to the node made before and to an array of its own. It returns
// the last node, and the addresses of the arrays' data.
func (f *Python) Chain(count int, link func(next, array uint64) uint64) (first uint64, arrays []uint64) {
	first = f.List()
	for i := range count {
		data := 0x7100_0000_0000 + uint64(i)<<13
		first = link(first, f.Object("numpy.ndarray", data, 1, 0, 0, 0, 0, 0, 0))
		arrays = append(arrays, data)
	}
	return first, arrays
}

// Local makes an object the first local variable of the thread that runs, and returns its frame.
func (f *Python) Local(object uint64) (frame uint64) {
	thread := f.Word(f.Heap.Interpreter + uint64(f.Heap.InterpThreadsHead))
	at := thread + uint64(f.Heap.ThreadFrame)
	frame = f.Word(at)
	if f.Heap.FrameKind == cpython.FrameCFrame {
		f.Put(at, f.Alloc(64))
		f.Put(f.Word(at)+uint64(f.Heap.CFrameCurrent), frame)
	}
	if f.Heap.FrameHolds == 0 { // the frame is an object
		f.Put(frame, 1)
		f.Put(frame+8, f.Types["frame"])
	}
	code := f.Word(frame + uint64(f.Heap.FrameCode))
	for _, at := range []uint32{f.Heap.CodeName, f.Heap.CodeQualName, f.Heap.CodeFilename} {
		if at != 0 {
			f.Put(code+uint64(at), f.Str("work"))
		}
	}
	f.Put(frame+uint64(f.Heap.FrameLocals), object)
	return frame
}

// Objects makes an array, of type typ, of references to objects.
func (f *Python) Objects(typ string, objs ...uint64) uint64 {
	descr, dims, data := f.Alloc(64), f.Alloc(8), f.Alloc(8*len(objs))
	f.Mem[descr+24-Base] = 'O'
	f.Put(dims, uint64(len(objs)))
	for i, obj := range objs {
		f.Put(data+uint64(8*i), obj)
	}
	return f.Object(typ, data, 1, dims, 0, 0, descr, 4, 0)
}

// EachVersion runs a test with a Python of each version.
func EachVersion(t *testing.T, test func(t *testing.T, f *Python)) {
	for minor := 9; minor <= 15; minor++ {
		t.Run(fmt.Sprintf("3.%d", minor), func(t *testing.T) { test(t, New(minor)) })
	}
}
