package cpython

import (
	"io"
	"maps"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// Library is an ELF file whose machine code is looked at as an interpreter's is: some other library of a Python process. It keeps
// the reader it was opened with and is safe for concurrent use when that is.
type Library struct {
	b     Binary
	names []string
}

// OpenLibrary parses the headers of an ELF file for x86-64 and keeps the exported symbols with the given names. The error
// matches [ErrNotPython] where it is none.
func OpenLibrary(r io.ReaderAt, names ...string) (*Library, error) {
	img, err := openImage(r, func(name string) bool { return slices.Contains(names, name) })
	if err != nil {
		return nil, err
	}
	return &Library{b: Binary{image: img}, names: names}, nil
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

// Entry returns where to see a function's arguments: an emulated instruction that every call passes once, with args still in
// their registers, or else its first one. It is not present where the library does not define the function.
func (l *Library) Entry(name string, args ...x86asm.Reg) Site {
	return l.b.entrySite(newCodeReader(l.b.image), name, args...)
}

// Returns returns where a function's result is seen, see [ReturnSite]. Tail calls to other functions of the file that are not
// exported are followed. Those to functions with the names this library was opened with are no ways out: the call is seen there
// from then on, with the same stack pointer. complete is false where the function may be left otherwise.
func (l *Library) Returns(name string) (sites []ReturnSite, complete bool) {
	return l.b.returnSites(newCodeReader(l.b.image), name, l.tail)
}

// Ends returns the ret instructions by which a function is left, where all that it stores is stored; otherwise as [Library.Returns].
func (l *Library) Ends(name string) (sites []ReturnSite, complete bool) {
	fn, ok := l.b.function(name)
	if !ok {
		return nil, false
	}
	flow := exploreTails(newCodeReader(l.b.image), fn.value, fn.size, l.tail)
	for _, addr := range slices.Sorted(slices.Values(flow.returns)) {
		sites = append(sites, ReturnSite{Site: l.b.site(name, fn.value, addr, 0, false)})
	}
	return sites, flow.complete && len(sites) > 0 && len(flow.exits) == 0
}

// copiers are functions that return their first argument (ISO C, 7.26). An allocator ends with one where it clears a block.
var copiers = []string{"memset", "__memset_chk"}

func (l *Library) tail(target uint64) tail {
	img := l.b.image
	for _, s := range img.symbols {
		if s.function && s.value == target {
			return tail{kind: tailEnds}
		}
	}
	if !img.inPLT(target) {
		if img.executable(target) {
			return tail{kind: tailFollow, at: target}
		}
		return tail{}
	}
	to, ok := img.linked(target)
	switch {
	case !ok:
	case slices.Contains(l.names, to.name):
		return tail{kind: tailEnds}
	case slices.Contains(copiers, to.name) || to.name == chosenAtStart:
		return tail{kind: tailReturns, result: general(x86asm.RDI)}
	case img.executable(to.value) && !img.inPLT(to.value):
		return l.tail(to.value)
	}
	return tail{}
}

// Start returns a function's first instruction, behind an endbr64, where a return probe may go.
func (l *Library) Start(name string) Site {
	fn, ok := l.b.function(name)
	if !ok {
		return Site{}
	}
	code := newCodeReader(l.b.image)
	at := fn.value
	in, ok := code.decode(at)
	if ok && in.Op == x86asm.NOP && in.Len == 4 && in.raw[0] == 0xf3 {
		at = in.end()
		in, ok = code.decode(at)
	}
	return l.b.site(name, fn.value, at, 0, ok && in.emulated())
}

// Aliases returns the names, of those the library was opened with, of the function that a function only jumps to; none where it does
// more. Whoever sees that one sees the call.
func (l *Library) Aliases(name string) (names []string) {
	fn, ok := l.b.function(name)
	if !ok {
		return nil
	}
	code := newCodeReader(l.b.image)
	in, ok := code.decode(fn.value)
	if ok && in.Op == x86asm.NOP {
		in, ok = code.decode(in.end())
	}
	to, direct := in.target()
	if !ok || in.Op != x86asm.JMP || !direct {
		return nil
	}
	for other, s := range l.b.image.symbols {
		if s.function && s.value == to {
			names = append(names, other)
		}
	}
	if len(names) == 0 && l.b.image.inPLT(to) {
		if s, ok := l.b.image.linked(to); ok {
			names = append(names, s.name)
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return n == name || !slices.Contains(l.names, n) })
}

// Bias returns the load bias of a process's mapping of the file, see [Binary.Bias].
func (l *Library) Bias(start, offset uint64) (uint64, bool) { return l.b.Bias(start, offset) }
