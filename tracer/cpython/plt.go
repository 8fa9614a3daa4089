package cpython

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"

	"golang.org/x/arch/x86/x86asm"
)

// chosenAtStart is the name of a function that the dynamic linker chooses for the processor (R_X86_64_IRELATIVE): in glibc's own
// PLT these are the functions on strings and memory.
const chosenAtStart = "*"

// symbolRef is the function a pointer of the PLT is for.
type symbolRef struct {
	name  string
	value uint64 // where the file itself defines it, else 0
}

// loadImports reads which function each pointer of the PLT is for.
func (img *image) loadImports(f *elf.File, s *elf.Section) {
	data, _ := io.ReadAll(io.NewSectionReader(img.r, int64(s.Offset), int64(s.FileSize)))
	symbols, _ := f.DynamicSymbols()
	img.imports = make(map[uint64]symbolRef)
	for r := bytes.NewReader(data); ; {
		var rel elf.Rela64
		if binary.Read(r, binary.LittleEndian, &rel) != nil {
			return
		}
		switch n := int(elf.R_SYM64(rel.Info)); {
		case elf.R_X86_64(elf.R_TYPE64(rel.Info)) == elf.R_X86_64_IRELATIVE:
			img.imports[rel.Off] = symbolRef{name: chosenAtStart}
		case n > 0 && n <= len(symbols): // the list has no symbol 0
			img.imports[rel.Off] = symbolRef{symbols[n-1].Name, symbols[n-1].Value}
		}
	}
}

// linked returns the function that a place in the PLT jumps to.
func (img *image) linked(target uint64) (to symbolRef, ok bool) {
	code := newCodeReader(img)
	for range 3 { // endbr64, jmp [rip + x]
		in, decoded := code.decode(target)
		if !decoded {
			return to, false
		}
		if m, memory := in.Args[0].(x86asm.Mem); memory && in.Op == x86asm.JMP && m.Base == x86asm.RIP {
			to, ok = img.imports[in.end()+uint64(m.Disp)]
			return to, ok
		}
		target = in.end()
	}
	return to, false
}
