package cpython

import (
	"debug/elf"
	"encoding/binary"

	"ipytracer/internal/code/elffile/elftest"
)

// fakeELF and fakeSymbol are a small ELF file made in memory.
type (
	fakeELF    = elftest.File
	fakeSymbol = elftest.Symbol
)

// fake is a symbol.
func fake(name string, addr, size uint64, data []byte) fakeSymbol {
	return fakeSymbol{Name: name, Addr: addr, Size: size, Data: data}
}

const (
	fakeBase = elftest.Base
	fakeText = elftest.Text
)

// fakePython is a fake interpreter of a version, with the debug offsets of 3.13 and newer.
func fakePython(hex uint32, freeThreaded bool, more ...fakeSymbol) fakeELF {
	f := fakeELF{Machine: elf.EM_X86_64, Symbols: []fakeSymbol{
		fake(versionSymbol, fakeText, 8, elftest.Word32(hex)),
		fake(evalCodeSymbol, fakeText+0x100, 2, []byte{0x53, 0xc3}),
	}}
	runtime := fake(runtimeSymbol, fakeText+0x400, 1000, nil)
	if minor := int(hex >> 16 & 0xff); minor >= firstDebugOffsets {
		runtime.Data = append(runtime.Data, debugCookie...)
		for i := range debugWords[minor] {
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
			runtime.Data = binary.LittleEndian.AppendUint64(runtime.Data, v)
		}
	}
	f.Symbols = append(append(f.Symbols, runtime), more...)
	return f
}
