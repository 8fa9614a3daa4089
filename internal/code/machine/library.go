package machine

import (
	"io"
	"maps"
	"slices"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/isa"
)

// Library is an ELF file whose exported functions are analysed one by one. It keeps the reader that it was opened with,
// and is safe for concurrent use if the reader is.
type Library struct {
	image *elffile.Image
	arch  *isa.Architecture
	names []string
}

func (l *Library) text() *Text { return textFor(l.image, l.arch) }

// OpenLibrary parses the headers of an ELF file and keeps the exported symbols with the given names. If the file is not
// an ELF file, the error matches [elffile.ErrNotELF].
func OpenLibrary(r io.ReaderAt, names ...string) (*Library, error) {
	img, err := elffile.OpenImage(r, func(name string) bool { return slices.Contains(names, name) })
	if err != nil {
		return nil, err
	}
	return &Library{image: img, arch: architectureOf(img.Machine()), names: names}, nil
}

// Has reports whether the library defines a function.
func (l *Library) Has(name string) bool {
	_, ok := l.image.Function(name)
	return ok
}

// SystemCalls returns a site behind each system call instruction of a function. There the registers still have the
// call's result and arguments. The site is at the conditional jump that tests for an error, if only comparisons come
// before the jump, and else at the next instruction.
func (l *Library) SystemCalls(name string) (sites []Site) {
	fn, ok := l.image.Function(name)
	if !ok {
		return nil
	}
	code := l.text()
	flow := exploreFunction(code, fn.Value, fn.Size)
	for _, addr := range slices.Sorted(maps.Keys(flow.seen)) {
		in, _ := code.decode(addr)
		if in.Kind != isa.SystemCall {
			continue
		}
		if site := code.behind(flow, name, fn.Value, in.End()); site.Present() {
			sites = append(sites, site)
		}
	}
	return sites
}

// behind returns the first emulated conditional jump from addr on, if only comparisons lie between; else the
// instruction at addr.
func (t *Text) behind(flow *flow, name string, entry, addr uint64) Site {
	for at := addr; ; {
		in, ok := t.decode(at)
		if !ok || at != addr && flow.targets[at] { // control may also come to at by a jump
			break
		}
		if in.Kind == isa.Branch && in.Emulated {
			return t.site(name, entry, at, 0)
		}
		if !in.Compares() {
			break
		}
		at = in.End()
	}
	return t.site(name, entry, addr, 0)
}

// Entry returns a site at which a function's first arguments are seen, as [Text.EntryIn] chooses it. It returns the
// zero Site if the library does not define the function.
func (l *Library) Entry(name string, arguments int) Site {
	return l.text().Entry(name, arguments)
}

// Returns returns the sites at which a function's result is seen. It follows tail calls to functions of the file that
// are not exported. A tail call to a function that the library was opened with is no exit: probes in that function see
// the rest of the call, with the same stack pointer. complete is false if the function may also be left in another way.
func (l *Library) Returns(name string) (sites []ReturnSite, complete bool) {
	code := l.text()
	return code.returnSites(name, func(target uint64) tail { return l.tail(code, target) })
}

// Ends returns sites at the ret instructions of a function, where the function has finished all its stores. It treats
// tail calls as [Library.Returns] does.
func (l *Library) Ends(name string) (sites []ReturnSite, complete bool) {
	fn, ok := l.image.Function(name)
	if !ok {
		return nil, false
	}
	code := l.text()
	flow := exploreTails(code, fn.Value, fn.Size, func(target uint64) tail { return l.tail(code, target) })
	sites, ok = code.atReturns(flow, name, fn.Value)
	return sites, ok && flow.complete && len(sites) > 0 && len(flow.exits) == 0
}

// copiers are functions that return their first argument (ISO C, 7.26). An allocator that clears a block may end with a
// tail call of one.
var copiers = []string{"memset", "__memset_chk"}

// tail returns the meaning of a tail call to target for the library's analyses.
func (l *Library) tail(code *Text, target uint64) tail {
	img := l.image
	for _, s := range img.Symbols {
		if s.Function && s.Value == target {
			return tail{kind: tailEnds}
		}
	}
	if !img.InPLT(target) {
		if img.Executable(target) {
			return tail{kind: tailFollow, at: target}
		}
		return tail{}
	}
	to, ok := code.linked(target)
	switch {
	case !ok:
	case slices.Contains(l.names, to.Name):
		return tail{kind: tailEnds}
	case slices.Contains(copiers, to.Name) || to.Name == elffile.ChosenAtStart:
		return tail{kind: tailReturns, result: general(code.arch.Arguments[0])}
	case img.Executable(to.Value) && !img.InPLT(to.Value):
		return l.tail(code, to.Value)
	}
	return tail{}
}

// Start returns the site for a return probe of a function: its first instruction, or the second if the first only marks
// an entry.
func (l *Library) Start(name string) Site {
	fn, ok := l.image.Function(name)
	if !ok {
		return Site{}
	}
	code := l.text()
	at := fn.Value
	in, ok := code.decode(at)
	if ok && in.MarksEntry {
		at = in.End()
	}
	return code.site(name, fn.Value, at, 0)
}

// Aliases returns the other names of a function that does nothing but jump: the names of the function it jumps to, as
// far as the library was opened with them. A probe on one of these names sees the call. Aliases returns none for a
// function that does more than jump.
func (l *Library) Aliases(name string) (names []string) {
	fn, ok := l.image.Function(name)
	if !ok {
		return nil
	}
	code := l.text()
	in, ok := code.decode(fn.Value)
	if ok && in.Kind == isa.Nop {
		in, ok = code.decode(in.End())
	}
	to, direct := in.Target()
	if !ok || in.Kind != isa.Jump || !direct {
		return nil
	}
	for other, s := range l.image.Symbols {
		if s.Function && s.Value == to {
			names = append(names, other)
		}
	}
	if len(names) == 0 && l.image.InPLT(to) {
		if s, ok := code.linked(to); ok {
			names = append(names, s.Name)
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return n == name || !slices.Contains(l.names, n) })
}

// stub returns the pointer through which the PLT's stub at target jumps. It decodes a stub's instructions and more
// further ones, see [isa.Architecture].
func (t *Text) stub(target uint64, more int) (pointer uint64, ok bool) {
	return t.arch.Stub(t.decode, target, more)
}

// linked returns the function to which the PLT's stub at target jumps.
func (t *Text) linked(target uint64) (to elffile.Import, ok bool) {
	pointer, ok := t.stub(target, 1)
	if ok {
		to, ok = t.image.Imports[pointer]
	}
	return to, ok
}

// stubs calls f with each address at which a stub of the PLT may begin.
func (t *Text) stubs(f func(addr uint64)) {
	for _, s := range t.image.PLT() {
		for at := s.Start; at < s.End && s.End-s.Start <= elffile.MaxTable; at += t.arch.StubStep {
			f(at)
		}
	}
}
