package cpython

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"io"

	"golang.org/x/arch/x86/x86asm"
)

// typeDestructor is where a type object has its tp_dealloc: behind ob_refcnt, ob_type, ob_size, tp_name, tp_basicsize and
// tp_itemsize (Include/cpython/object.h, 3.9 to 3.15); without the GIL the header is larger.
const typeDestructor = 6 * 8

// codeFreedSite finds where every code object ends: the function that PyCode_Type names as its tp_dealloc, which has no name of
// its own in the file.
func (b *Binary) codeFreedSite(code *codeReader) Site {
	t, ok := b.image.symbols["PyCode_Type"]
	if !ok || t.function {
		return Site{}
	}
	at := t.value + typeDestructor
	if b.FreeThreaded() {
		at += headerGrowth
	}
	entry, ok := b.image.pointer(at)
	if !ok || !b.image.executable(entry) {
		return Site{}
	}
	fn := symbol{value: entry, function: true}
	if body, ok := b.image.fragment(entry); ok && body.start == entry {
		fn.size = body.end - body.start
	}
	return b.siteIn(code, "PyCode_Type.tp_dealloc", fn, []x86asm.Reg{x86asm.RDI})
}

// pointer returns what a word in data holds once the file is loaded, before the load bias: what a relative relocation says of it,
// or else what the file has there.
func (img *image) pointer(at uint64) (uint64, bool) {
	for _, s := range img.relocated {
		r := bufio.NewReaderSize(io.NewSectionReader(img.r, int64(s.offset), int64(s.size)), 64<<10)
		var entry [24]byte
		for {
			if _, err := io.ReadFull(r, entry[:]); err != nil {
				break
			}
			if binary.LittleEndian.Uint64(entry[:]) != at {
				continue
			}
			kind := elf.R_X86_64(elf.R_TYPE64(binary.LittleEndian.Uint64(entry[8:])))
			return binary.LittleEndian.Uint64(entry[16:]), kind == elf.R_X86_64_RELATIVE
		}
	}
	var word [8]byte
	if img.read(at, word[:]) != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(word[:]), true
}
