// Package machine reads machine code: the effects of instructions, the ways through a function, and the values that
// registers and the stack hold on them. So it finds where a probe sees a function's arguments and its result. The
// purpose of functions (internal/python/cpython, internal/python/numpy, internal/code/libc, internal/code/cuda) and
// their place in files (internal/code/elffile) are others' business.
//
// Analyses know instructions as internal/code/isa has them. The header of a file names its processor ([NewText]). A
// package of its own decodes the instructions of each processor.
//
// It reads through [io.ReaderAt] and does nothing else. Code may be anything: all searches are bounded, code that is
// not understood is not known, and nothing panics. Addresses are those of the file ("virtual").
package machine

import (
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/isa"
)

// Site is an instruction to put a plain uprobe on. Return probes are never offered: they replace return
// addresses, which breaks greenlets and C++ exceptions.
type Site struct {
	Symbol string // the exported function the site stands for
	// Delta is the distance in bytes from the entry of the function that holds the site: the symbol's own,
	// or the one that the symbol's thunk jumps to. In a cold fragment it may be negative.
	Delta      int32
	Address    uint64 // virtual address in the file
	FileOffset uint64 // the offset that a uprobe attaches to
	// Pushed is the number of bytes that the function has put on the stack before this instruction: the stack pointer
	// at entry, where the return address lies, is that much above.
	Pushed int32
	// Emulated reports that the kernel emulates the instruction: a hit costs about 0.6 µs instead of 10.
	Emulated bool
}

// Present reports whether there is such a place at all.
func (s Site) Present() bool { return s.Symbol != "" }

// site makes one of an instruction; it is not present where the instruction takes no probe.
func (t *Text) site(name string, entry, addr uint64, pushed int32) Site {
	in, _ := t.decode(addr)
	off, ok := t.image.FileOffset(addr)
	if !ok || t.refuses(&in) {
		return Site{}
	}
	delta := int32(addr - entry)
	return Site{Symbol: name, Delta: delta, Address: addr, FileOffset: off, Pushed: pushed, Emulated: in.Emulated}
}

// refuses reports whether an instruction takes no probe.
func (t *Text) refuses(in *isa.Instruction) bool {
	return in.Refused || t.arch.Unbroken != nil && t.arch.Unbroken(t.decode, in.Addr)
}

// At returns an instruction as a site, under a name of the caller's choice; the function around it is the one that
// holds it.
func (t *Text) At(name string, addr uint64) Site {
	start := addr
	if s, ok := t.image.Fragment(addr); ok {
		start = s.Start
	}
	return t.site(name, start, addr, 0)
}

// maxFragment bounds how long the code in front of an instruction may be that is walked through to it, in bytes.
const maxFragment = 1 << 20

// Begins reports whether an instruction begins at an address: one is decoded after the other from the start of the
// function on. A probe anywhere else would destroy the code.
func (t *Text) Begins(addr uint64) bool {
	s, ok := t.image.Fragment(addr)
	if !ok || addr-s.Start > maxFragment {
		return false
	}
	for at := s.Start; at < addr; {
		in, ok := t.decode(at)
		if !ok {
			return false
		}
		if at = in.End(); at == addr {
			return true
		}
	}
	return s.Start == addr
}

// Thunk returns where a function jumps to that does nothing else, its first arguments being untouched.
func (t *Text) Thunk(fn elffile.Symbol, arguments int) (uint64, bool) {
	addr := fn.Value
	for range 4 {
		in, ok := t.decode(addr)
		if !ok {
			return 0, false
		}
		if in.Kind == isa.Jump {
			target, direct := in.Target()
			inside := target >= fn.Value && target-fn.Value < fn.Size
			return target, direct && !inside && t.image.Executable(target)
		}
		stack := t.arch.StackPointer.Set()
		if in.Kind == isa.Push || in.MayWrite(t.arguments(arguments)) || (in.Writes.Set()|in.Also)&stack != 0 {
			return 0, false
		}
		addr = in.End()
	}
	return 0, false
}

// Entry returns where to see an exported function's first arguments, see [Text.EntryIn]. It is not present where the
// image does not define the function.
func (t *Text) Entry(name string, arguments int) Site {
	fn, ok := t.image.Function(name)
	if !ok {
		return Site{}
	}
	return t.EntryIn(name, fn, arguments)
}

// maxPrologue bounds how far from the entry a site is looked for, in instructions.
const maxPrologue = 24

// maxPushed bounds how many bytes of the stack a site's function may have taken before it.
const maxPushed = 4096

// EntryIn chooses a place for a probe at a function's entry. It is on the straight path that every call passes exactly
// once, where so many arguments are still in place: the first emulated instruction, or else the first that takes a
// probe.
func (t *Text) EntryIn(name string, fn elffile.Symbol, arguments int) Site {
	return t.entryWith(name, fn, t.arguments(arguments))
}

// entryWith is EntryIn with some registers still in place.
func (t *Text) entryWith(name string, fn elffile.Symbol, kept isa.Registers) Site {
	flow := exploreFunction(t, fn.Value, fn.Size)
	sp := stack{known: true}
	addr := fn.Value
	dear := t.site(name, fn.Value, addr, 0)
	for range maxPrologue {
		in, ok := t.decode(addr)
		if !ok || flow.targets[addr] { // the target of a later jump may run more than once
			break
		}
		if site := t.site(name, fn.Value, addr, int32(sp.pushed)); site.Emulated {
			return site
		} else if !dear.Present() {
			dear = site
		}
		if in.MayWrite(kept) {
			break
		}
		if sp.step(&in); !sp.known || sp.pushed < 0 || sp.pushed > maxPushed {
			break
		}
		addr = in.End()
	}
	return dear
}

// Returns returns the places where an exported function's result is seen, see [ReturnSite]. complete is false where the
// function may be left otherwise, as by a call that does not come back to it.
func (t *Text) Returns(name string) (sites []ReturnSite, complete bool) {
	return t.returnSites(name, nil)
}

// arguments returns the registers of so many arguments.
func (t *Text) arguments(n int) isa.Registers {
	return isa.SetOf(t.arch.Arguments[:min(n, len(t.arch.Arguments))]...)
}
