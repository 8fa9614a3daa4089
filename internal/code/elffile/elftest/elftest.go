// Package elftest makes small ELF files and memory of processes for tests. It also finds where a process has loaded a
// file, finds the trees of other systems, and compares findings in real files with pinned ones ([Check]). Only tests
// import it.
package elftest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"

	"ipytracer/internal/code/elffile"
)

// File is a small ELF file: one executable segment with file offset 0 at [Base].
type File struct {
	Machine elf.Machine // 0 for the machine that the tests run on
	Symbols []Symbol
	Frames  []elffile.Span // .eh_frame
}

// Symbol is a defined symbol with the bytes at its address, which is relative to [Base]. The symbol is a function if
// Function is set, or if its name contains Py and is not the name of one of CPython's variables.
type Symbol struct {
	Name string
	Addr uint64
	Size uint64
	Data []byte

	Function bool
}

// The file's layout.
const (
	Base = 0x400000
	Text = 0x100 // lowest address for symbols
	size = 0xc00
)

// Bytes returns the file.
func (f File) Bytes() []byte {
	if f.Machine == 0 {
		f.Machine = elffile.Native
	}
	file := make([]byte, size)
	names := []byte("\x00.dynsym\x00.dynstr\x00.eh_frame\x00")
	var syms bytes.Buffer
	put := func(w *bytes.Buffer, v any) { binary.Write(w, binary.LittleEndian, v) }
	put(&syms, elf.Sym64{})
	for _, s := range f.Symbols {
		typ := elf.STT_FUNC
		if s.Name == "_PyRuntime" || s.Name == "Py_Version" || !s.Function && !strings.Contains(s.Name, "Py") {
			typ = elf.STT_OBJECT // or merely bytes for the file
		}
		put(&syms, elf.Sym64{Name: uint32(len(names)), Info: elf.ST_INFO(elf.STB_GLOBAL, typ), Shndx: 1,
			Value: Base + s.Addr, Size: s.Size})
		names = append(append(names, s.Name...), 0)
		copy(file[s.Addr:], s.Data)
	}
	frames := f.ehFrame()
	var out bytes.Buffer
	header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(f.Machine), Version: 1, Phoff: 64,
		Shoff:  uint64(size + syms.Len() + len(names) + len(frames)),
		Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64, Shnum: 4, Shstrndx: 2}
	copy(header.Ident[:], "\x7fELF\x02\x01\x01")
	put(&out, header)
	put(&out, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: Base, Filesz: size,
		Memsz: size, Align: 0x1000})
	copy(file, out.Bytes())
	out.Reset()
	out.Write(file)
	out.Write(syms.Bytes())
	out.Write(names)
	out.Write(frames)
	at := uint64(size)
	put(&out, elf.Section64{})
	put(&out, elf.Section64{Name: 1, Type: uint32(elf.SHT_DYNSYM), Off: at, Size: uint64(syms.Len()), Link: 2, Info: 1,
		Entsize: 24})
	at += uint64(syms.Len())
	put(&out, elf.Section64{Name: 9, Type: uint32(elf.SHT_STRTAB), Off: at, Size: uint64(len(names))})
	at += uint64(len(names))
	put(&out, elf.Section64{Name: 17, Type: uint32(elf.SHT_PROGBITS), Addr: framesAt, Off: at,
		Size: uint64(len(frames))})
	return out.Bytes()
}

const framesAt = Base + 0x8000 // address of .eh_frame

// ehFrame writes one CIE and an FDE for each range.
func (f File) ehFrame() []byte {
	cie := []byte{16, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b /* pcrel, sdata4 */, 0, 0, 0}
	out := cie
	for _, s := range f.Frames {
		var fde [20]byte // the last word: no augmentation data, and nothing to execute
		binary.LittleEndian.PutUint32(fde[0:], 16)
		binary.LittleEndian.PutUint32(fde[4:], uint32(len(out)+4))
		binary.LittleEndian.PutUint32(fde[8:], uint32(int64(s.Start)-int64(framesAt+len(out)+8)))
		binary.LittleEndian.PutUint32(fde[12:], uint32(s.End-s.Start))
		out = append(out, fde[:]...)
	}
	return append(out, 0, 0, 0, 0)
}

// Word32 is a 32-bit little-endian value.
func Word32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
