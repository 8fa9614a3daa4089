package holders

import (
	"context"
	"encoding/binary"
	"io"

	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/paths"
	"ipytracer/internal/python/holders/variables"
	"ipytracer/internal/python/holders/walk"
)

// fake is the memory of a Python as far as a walk reads it, made from the layout of a version. It begins at fakeMemory.
type fake struct {
	h     cpython.Heap
	mem   []byte
	types map[string]uint64
	block uint64 // that an array has
}

const fakeMemory = 0x100000

// memory is the memory up to the end of its last page.
func (f *fake) memory() elftest.Memory {
	return elftest.Memory{Base: fakeMemory, Bytes: append(f.mem[:len(f.mem):len(f.mem)],
		make([]byte, objects.PageSize-len(f.mem)%objects.PageSize)...)}
}

func (f *fake) alloc(size int) uint64 {
	addr := fakeMemory + uint64(len(f.mem))
	f.mem = append(f.mem, make([]byte, (size+15)&^15)...)
	return addr
}

func (f *fake) put(addr, v uint64) { binary.LittleEndian.PutUint64(f.mem[addr-fakeMemory:], v) }

func (f *fake) cString(s string) uint64 {
	addr := f.alloc(len(s) + 1)
	copy(f.mem[addr-fakeMemory:], s)
	return addr
}

// typ makes a type.
func (f *fake) typ(name string, basic, item int, flags uint64) {
	const size = 960
	t := f.alloc(size)
	f.types[name] = t
	f.put(t, 1)
	f.put(t+8, f.types["type"])
	f.put(t+24, f.cString(name))
	f.put(t+cpython.TypeBasicSize, uint64(basic))
	f.put(t+cpython.TypeItemSize, uint64(item))
	f.put(t+cpython.TypeFlags, flags)
}

// object makes an object with the words behind its header.
func (f *fake) object(typ string, words ...uint64) uint64 {
	const head = 16 // the garbage collector's
	size := 16 + 8*len(words)
	addr := f.alloc(head+max(size, 96)) + head
	f.put(addr, 1)
	f.put(addr+8, f.types[typ])
	for i, w := range words {
		f.put(addr+16+uint64(8*i), w)
	}
	return addr
}

func (f *fake) str(s string) uint64 {
	addr := f.object("str", make([]uint64, 16+len(s)/8)...)
	f.put(addr+uint64(f.h.StrLength), uint64(len(s)))
	f.mem[addr+uint64(f.h.StrState)-fakeMemory] = 1<<2 | 3<<5
	copy(f.mem[addr+uint64(f.h.ASCIIData)-fakeMemory:], s)
	return addr
}

func (f *fake) list(items ...uint64) uint64 {
	data := f.alloc(8 * len(items))
	for i, item := range items {
		f.put(data+uint64(8*i), item)
	}
	return f.object("list", uint64(len(items)), data, uint64(len(items)))
}

func (f *fake) tuple(items ...uint64) uint64 {
	addr := f.object("tuple", make([]uint64, 2+len(items))...)
	f.put(addr+16, uint64(len(items)))
	for i, item := range items {
		f.put(addr+uint64(f.h.TupleItems)+uint64(8*i), item)
	}
	return addr
}

// dict makes a dict of keys and values in turn.
func (f *fake) dict(pairs ...uint64) uint64 {
	const log2 = 4
	header, stride, key := 32, 16, 0
	if f.h.Version.Minor <= 10 {
		header, stride, key = 40, 24, 8
	}
	keys := f.alloc(header + 1<<log2 + len(pairs)/2*stride)
	if f.h.Version.Minor <= 10 {
		f.put(keys+8, 1<<log2)
		f.put(keys+32, uint64(len(pairs)/2))
	} else {
		copy(f.mem[keys+8-fakeMemory:], []byte{log2, log2, 1})
		f.put(keys+24, uint64(len(pairs)/2))
	}
	for i := 0; i < len(pairs); i += 2 {
		e := keys + uint64(header+1<<log2+i/2*stride+key)
		f.put(e, pairs[i])
		f.put(e+8, pairs[i+1])
	}
	return f.object("dict", 0, 0, keys, 0)
}

func (f *fake) array() uint64 { return f.object("numpy.ndarray", f.block, 1, 0, 0, 0, 0, 0, 0) }

// newFake makes a process with one of everything in __main__, and an array at the end of it all.
func newFake(minor int) *fake {
	f := &fake{h: cpython.HeapOf(cpython.Version{Major: 3, Minor: minor, Micro: -1}), types: map[string]uint64{}}
	f.block = 0x7000_0000_0000
	f.h.Interpreter = f.alloc(int(max(f.h.InterpModules, f.h.InterpThreadsHead, f.h.InterpGC)) + 512)
	f.typ("type", 424, 40, cpython.FlagType|cpython.FlagGC)
	f.put(f.types["type"]+8, f.types["type"])
	for name, flags := range map[string]uint64{
		"dict": cpython.FlagDict, "list": cpython.FlagList, "tuple": cpython.FlagTuple, "str": cpython.FlagStr,
		"int": cpython.FlagInt,
	} {
		f.typ(name, 48, 8, flags)
	}
	for _, name := range []string{"set", "collections.deque", "module", "function", "cell", "frame", "generator",
		"traceback", "weakref", "numpy.ndarray", "code", "other.Native"} {
		f.typ(name, 80, 0, 0)
	}
	f.typ("Instance", 16, 0, cpython.FlagHeapType|cpython.FlagManagedDict|cpython.FlagInlineValues)
	leaf := f.array()
	items := []uint64{f.str("name"), f.tuple(f.list(f.dict(f.str("key"), leaf)))}
	items = append(items, f.object("set", 0, 1, 0, f.alloc(32)), f.object("weakref", leaf))
	block := f.alloc(8 * 66)
	items = append(items, f.object("collections.deque", 1, block, block, 0, 0))
	names := f.tuple(f.str("a"), f.str("b"))
	code := f.object("code", make([]uint64, 30)...)
	f.put(code+uint64(f.h.CodeLocalNames), names)
	f.put(code+uint64(f.h.CodeLocals), 2)
	for _, name := range []string{"function", "cell", "frame", "generator", "traceback", "other.Native", "Instance"} {
		obj := f.object(name, make([]uint64, 60)...)
		for i := range uint64(8) {
			f.put(obj+16+8*i, items[int(i)%len(items)])
		}
		items = append(items, obj)
	}
	frame := f.alloc(512)
	f.put(frame+uint64(f.h.FrameCode), code)
	f.put(frame+uint64(f.h.FrameBack), frame) // a circle
	f.put(frame+uint64(f.h.FrameLocals), leaf)
	thread := f.alloc(1024)
	f.put(thread+uint64(f.h.ThreadFrame), frame)
	f.put(f.h.Interpreter+uint64(f.h.InterpThreadsHead), thread)
	f.put(thread+uint64(f.h.ThreadNext), thread)
	main := f.object("module", f.dict(f.str("first"), f.list(items...), f.str("Out"), f.dict(f.str("k"), f.list()),
		f.str("x"), items[1]))
	sys := f.object("module", f.dict(f.str("last_value"), items[len(items)-1]))
	f.put(f.h.Interpreter+uint64(f.h.InterpModules), f.dict(f.str("__main__"), main, f.str("sys"), sys))
	return f
}

// find surveys and returns the holders of blocks.
func find(ctx context.Context, heap cpython.Heap, from io.ReaderAt, blocks []objects.Block,
	limits objects.Limits) (Result, error) {
	s, err := newSurvey(ctx, heap, from, Process{}, limits)
	if err != nil {
		return Result{}, err
	}
	defer s.Close()
	return s.Find(ctx, blocks, limits)
}

// list surveys and returns the objects by name.
func list(ctx context.Context, heap cpython.Heap, from io.ReaderAt, mapped []objects.Block,
	limits objects.Limits) (variables.Listing, error) {
	s, err := newSurvey(ctx, heap, from, Process{Mapped: mapped}, limits)
	if err != nil {
		return variables.Listing{}, err
	}
	defer s.Close()
	return s.List(ctx, limits)
}

func (f *fake) word(addr uint64) uint64 { return binary.LittleEndian.Uint64(f.mem[addr-fakeMemory:]) }

// finished is a finder whose walk is over.
type finished struct {
	*walk.Finder
	paths *paths.Writer
}

// finish follows all roots, and then looks for garbage.
func finish(f *walk.Finder) finished {
	f.VisitFor(f)
	walk.Roots{Walker: f.Walker}.Follows(f.Modules(), true)
	return finished{f, paths.NewWriter(f.Walker, paths.FindGarbage(f.Walker))}
}

func (f finished) result() Result { return resultOf(f.Finder, f.paths) }

// seeking has a walker look for arrays as well.
func seeking(w *walk.Walker) *walk.Finder {
	f := walk.NewFinder(w)
	f.SeeksArrays = true
	w.VisitFor(f)
	return f
}

// bare is a walker that has nothing to read.
func bare(n *objects.Notes) *walk.Walker {
	w := walk.NewWalker(context.Background(), cpython.Heap{}, nil, nil, objects.Limits{})
	w.Notes = n
	return w
}
