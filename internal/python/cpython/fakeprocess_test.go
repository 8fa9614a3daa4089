package cpython

import (
	"encoding/binary"

	"ipytracer/internal/code/elffile/elftest"
)

// fakeProcess is the memory of a CPython process as far as this package reads it, made from the offsets of a
// version. Memory starts at fakeMemory.
type fakeProcess struct {
	o     Offsets
	minor int
	mem   []byte
	types map[string]uint64
}

const fakeMemory = 0x10000

// newFakeProcess makes a process with __main__.In, IPython.core.release.version and an empty sys module.
func newFakeProcess(minor int) *fakeProcess {
	p := &fakeProcess{o: tableOffsets(minor), minor: minor, types: make(map[string]uint64)}
	runtime := p.alloc(int(p.o.RuntimeInterpretersMain) + 8)
	interp := p.alloc(int(max(p.o.InterpModules, p.o.InterpThreadsHead)) + 8)
	p.put(runtime+uint64(p.o.RuntimeInterpretersMain), interp)
	in := p.object("list", 24)
	p.put(in+uint64(p.o.ListSize), 5)
	modules := p.dict(0,
		p.str("sys"), p.module(p.dict(8)),
		p.str("__main__"), p.module(p.dict(0, p.str("x"), p.str("y"), p.str("In"), in)),
		p.str("IPython.core.release"), p.module(p.dict(0, p.str("version"), p.str("8.5.0"))),
		p.str("ipykernel.kernelapp"), p.str("anything"),
	)
	p.put(interp+uint64(p.o.InterpModules), modules)
	size := int(max(p.o.ThreadNext, p.o.ThreadID)) + 8
	first, second := p.alloc(size), p.alloc(size)
	p.put(interp+uint64(p.o.InterpThreadsHead), first)
	p.put(first+uint64(p.o.ThreadNext), second)
	p.put(first+uint64(p.o.ThreadID), 11)
	p.put(second+uint64(p.o.ThreadID), 22)
	return p
}

func (p *fakeProcess) interpreter() *Interpreter {
	return newInterpreter(p.o, p.minor, fakeMemory, elftest.Memory{Base: fakeMemory, Bytes: p.mem})
}

func (p *fakeProcess) alloc(size int) uint64 {
	addr := fakeMemory + uint64(len(p.mem))
	p.mem = append(p.mem, make([]byte, (size+7)&^7)...)
	return addr
}

func (p *fakeProcess) put(addr, v uint64) {
	binary.LittleEndian.PutUint64(p.mem[addr-fakeMemory:], v)
}

// object allocates an object of a type that is made when first needed.
func (p *fakeProcess) object(typ string, size int) uint64 {
	t, ok := p.types[typ]
	if !ok {
		t = p.alloc(32)
		name := p.alloc(len(typ) + 1)
		copy(p.mem[name-fakeMemory:], typ)
		p.put(t+uint64(p.o.TypeName), name)
		p.types[typ] = t
	}
	addr := p.alloc(size)
	p.put(addr+uint64(p.o.ObjectType), t)
	return addr
}

func (p *fakeProcess) str(s string) uint64 {
	addr := p.object("str", int(p.o.ASCIIData)+len(s)+1)
	p.put(addr+uint64(p.o.StrLength), uint64(len(s)))
	p.mem[addr+uint64(p.o.StrState)-fakeMemory] = 1<<2 | 3<<5
	copy(p.mem[addr+uint64(p.o.ASCIIData)-fakeMemory:], s)
	return addr
}

func (p *fakeProcess) module(dict uint64) uint64 {
	addr := p.object("module", 32)
	p.put(addr+uint64(p.o.ModuleDict), dict)
	return addr
}

// dict makes a dict of keys and values in turn, with room for more entries.
func (p *fakeProcess) dict(room int, pairs ...uint64) uint64 {
	const log2 = 4
	addr := p.object("dict", 48)
	header, stride, key := 32, 16, 0
	if p.minor <= 10 {
		header, stride, key = 40, 24, 8
	}
	keys := p.alloc(header + 1<<log2 + (len(pairs)/2+room)*stride)
	p.put(addr+uint64(p.o.DictKeys), keys)
	if p.minor <= 10 {
		p.put(keys+8, 1<<log2)
		p.put(keys+32, uint64(len(pairs)/2))
	} else {
		copy(p.mem[keys+8-fakeMemory:], []byte{log2, log2, 1})
		p.put(keys+24, uint64(len(pairs)/2))
	}
	for i := 0; i < len(pairs); i += 2 {
		e := keys + uint64(header+1<<log2+i/2*stride+key)
		p.put(e, pairs[i])
		p.put(e+8, pairs[i+1])
	}
	return addr
}
