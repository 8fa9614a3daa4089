package machine

import (
	"io"
	"maps"
	"slices"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/isa"
)

// Library is an ELF file with exported functions that are looked at one by one. It keeps the reader it was opened with
// and is safe for concurrent use when that is.
type Library struct {
	image *elffile.Image
	arch  *isa.Architecture
	names []string
}

func (l *Library) text() *Text { return textFor(l.image, l.arch) }

// OpenLibrary parses the headers of an ELF file and keeps the exported symbols with the given names. The
// error matches [elffile.ErrNotELF].
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

// SystemCalls returns a place behind each system call instruction of a function. At that place the registers still have
// the call's result and arguments. It is the conditional jump that looks for an error, if the jump comes next, and else
// the very next instruction.
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

func (t *Text) behind(flow *flow, name string, entry, addr uint64) Site {
	for at := addr; ; {
		in, ok := t.decode(at)
		if !ok || at != addr && flow.targets[at] { // others come there as well
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

// Entry returns the place where a function's first arguments are seen. It is an emulated instruction that every call
// passes once while that many arguments are still in their registers, or else the function's first instruction. The
// place is not present where the library does not define the function.
func (l *Library) Entry(name string, arguments int) Site {
	return l.text().Entry(name, arguments)
}

// Returns returns the places where a function's result is seen, see [ReturnSite]. Tail calls to functions of the file
// that are not exported are followed. A tail call to a function with a name that this library was opened with is no way
// out: from then on the call is seen in that function, with the same stack pointer. complete is false where the
// function may be left otherwise.
func (l *Library) Returns(name string) (sites []ReturnSite, complete bool) {
	code := l.text()
	return code.returnSites(name, func(target uint64) tail { return l.tail(code, target) })
}

// Ends returns the ret instructions by which a function is left: there the function has stored everything that it
// stores. In all else it is like [Library.Returns].
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

// copiers are functions that return their first argument (ISO C, 7.26). An allocator ends with one where it clears a
// block.
var copiers = []string{"memset", "__memset_chk"}

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

// Start returns the place where a return probe of a function may go: the function's first instruction, or the second
// where the first only marks an entry.
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

// Aliases returns the names of the function to which a function only jumps, of the names that the library was opened
// with. It returns none where the function does more than jump. A probe on such a name sees the call.
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

// stub returns the pointer through which code in the PLT jumps, as [isa.Architecture] knows stubs.
func (t *Text) stub(target uint64, more int) (pointer uint64, ok bool) {
	return t.arch.Stub(t.decode, target, more)
}

// linked returns the function that a place in the PLT jumps to.
func (t *Text) linked(target uint64) (to elffile.Import, ok bool) {
	pointer, ok := t.stub(target, 1)
	if ok {
		to, ok = t.image.Imports[pointer]
	}
	return to, ok
}

// stubs calls f with each place at which code in the PLT may begin.
func (t *Text) stubs(f func(addr uint64)) {
	for _, s := range t.image.PLT() {
		for at := s.Start; at < s.End && s.End-s.Start <= elffile.MaxTable; at += t.arch.StubStep {
			f(at)
		}
	}
}
