package cpython

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
)

// fakeELF is a small ELF file made in memory: one executable segment whose file offset 0 is at fakeBase.
type fakeELF struct {
	machine elf.Machine
	symbols []fakeSymbol
	frames  []span // .eh_frame
}

// fakeSymbol is a defined symbol with the bytes at its address; addresses are relative to fakeBase.
type fakeSymbol struct {
	name string
	addr uint64
	size uint64
	data []byte
}

const (
	fakeBase = 0x400000
	fakeText = 0x100 // lowest address for symbols
	fakeSize = 0xc00
)

func (f fakeELF) bytes() []byte {
	if f.machine == 0 {
		f.machine = elf.EM_X86_64
	}
	file := make([]byte, fakeSize)
	names := []byte("\x00.dynsym\x00.dynstr\x00.eh_frame\x00")
	var syms bytes.Buffer
	put := func(w *bytes.Buffer, v any) { binary.Write(w, binary.LittleEndian, v) }
	put(&syms, elf.Sym64{})
	for _, s := range f.symbols {
		typ := elf.STT_FUNC
		if s.name == runtimeSymbol || s.name == versionSymbol || !strings.Contains(s.name, "Py") {
			typ = elf.STT_OBJECT // or merely bytes for the file
		}
		put(&syms, elf.Sym64{Name: uint32(len(names)), Info: elf.ST_INFO(elf.STB_GLOBAL, typ), Shndx: 1, Value: fakeBase + s.addr, Size: s.size})
		names = append(append(names, s.name...), 0)
		copy(file[s.addr:], s.data)
	}
	frames := f.ehFrame()
	var out bytes.Buffer
	header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(f.machine), Version: 1, Phoff: 64, Shoff: uint64(fakeSize + syms.Len() + len(names) + len(frames)),
		Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64, Shnum: 4, Shstrndx: 2}
	copy(header.Ident[:], "\x7fELF\x02\x01\x01")
	put(&out, header)
	put(&out, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: fakeBase, Filesz: fakeSize, Memsz: fakeSize, Align: 0x1000})
	copy(file, out.Bytes())
	out.Reset()
	out.Write(file)
	out.Write(syms.Bytes())
	out.Write(names)
	out.Write(frames)
	at := uint64(fakeSize)
	put(&out, elf.Section64{})
	put(&out, elf.Section64{Name: 1, Type: uint32(elf.SHT_DYNSYM), Off: at, Size: uint64(syms.Len()), Link: 2, Info: 1, Entsize: 24})
	at += uint64(syms.Len())
	put(&out, elf.Section64{Name: 9, Type: uint32(elf.SHT_STRTAB), Off: at, Size: uint64(len(names))})
	at += uint64(len(names))
	put(&out, elf.Section64{Name: 17, Type: uint32(elf.SHT_PROGBITS), Addr: fakeFrames, Off: at, Size: uint64(len(frames))})
	return out.Bytes()
}

const fakeFrames = fakeBase + 0x8000 // address of .eh_frame

// ehFrame writes one CIE and an FDE for each range.
func (f fakeELF) ehFrame() []byte {
	cie := []byte{16, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, encPCRelSData4, 0, 0, 0}
	out := cie
	for _, s := range f.frames {
		var fde [16]byte
		binary.LittleEndian.PutUint32(fde[0:], 12)
		binary.LittleEndian.PutUint32(fde[4:], uint32(len(out)+4))
		binary.LittleEndian.PutUint32(fde[8:], uint32(int64(s.start)-int64(fakeFrames+len(out)+8)))
		binary.LittleEndian.PutUint32(fde[12:], uint32(s.end-s.start))
		out = append(out, fde[:]...)
	}
	return append(out, 0, 0, 0, 0)
}

// word32 is a 32-bit little-endian value.
func word32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }

// fakePython is a fake interpreter of a version, with the debug offsets of 3.13 and newer.
func fakePython(hex uint32, freeThreaded bool, more ...fakeSymbol) fakeELF {
	f := fakeELF{symbols: []fakeSymbol{
		{versionSymbol, fakeText, 8, word32(hex)},
		{evalCodeSymbol, fakeText + 0x100, 2, []byte{0x53, 0xc3}},
	}}
	runtime := fakeSymbol{runtimeSymbol, fakeText + 0x400, 1000, nil}
	if minor := int(hex >> 16 & 0xff); minor >= firstDebugOffsets {
		runtime.data = append(runtime.data, debugCookie...)
		for i := range debugLayouts[minor].words {
			v := uint64(8 * i)
			switch i {
			case debugVersion:
				v = uint64(hex)
			case debugFreeThreaded:
				v = 0
				if freeThreaded {
					v = 1
				}
			}
			runtime.data = binary.LittleEndian.AppendUint64(runtime.data, v)
		}
	}
	f.symbols = append(append(f.symbols, runtime), more...)
	return f
}
