package cpython

import (
	"io"
	"maps"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// Library is an ELF file whose machine code is looked at as an interpreter's is: some other library of a Python process. It keeps
// the reader it was opened with and is safe for concurrent use when that is.
type Library struct{ b Binary }

// OpenLibrary parses the headers of an ELF file for x86-64 and keeps the exported symbols with the given names. The error
// matches [ErrNotPython] where it is none.
func OpenLibrary(r io.ReaderAt, names ...string) (*Library, error) {
	img, err := openImage(r, func(name string) bool { return slices.Contains(names, name) })
	if err != nil {
		return nil, err
	}
	return &Library{Binary{image: img}}, nil
}

// Has says whether the library defines a function.
func (l *Library) Has(name string) bool {
	_, ok := l.b.function(name)
	return ok
}

// SystemCalls returns, for each system call instruction of a function, the place behind it at which rax has its result and rdi,
// rsi, rdx, r10, r8 and r9 still have its arguments: the conditional jump that looks for an error, if that comes next, else the
// very next instruction.
func (l *Library) SystemCalls(name string) (sites []Site) {
	fn, ok := l.b.function(name)
	if !ok {
		return nil
	}
	code := newCodeReader(l.b.image)
	flow := exploreFunction(code, fn.value, fn.size)
	for _, addr := range slices.Sorted(maps.Keys(flow.seen)) {
		in, _ := code.decode(addr)
		if in.Op == x86asm.SYSCALL {
			sites = append(sites, l.behind(code, flow, name, fn.value, in.end()))
		}
	}
	return sites
}

func (l *Library) behind(code *codeReader, flow *flow, name string, entry, addr uint64) Site {
	for at := addr; ; {
		in, ok := code.decode(at)
		if !ok || at != addr && flow.targets[at] { // others come there as well
			break
		}
		if in.conditional() && in.emulated() {
			return l.b.site(name, entry, at, 0, true)
		}
		if in.Op != x86asm.CMP && in.Op != x86asm.TEST {
			break
		}
		at = in.end()
	}
	return l.b.site(name, entry, addr, 0, false)
}
