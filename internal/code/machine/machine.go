// Package machine analyses machine code. It finds the effects of instructions, the paths through a function, and the
// values that registers and the stack hold on each path. From that it finds the instructions at which a probe sees a
// function's arguments and its result.
//
// What a function is for is known elsewhere (internal/python/cpython, internal/python/numpy, internal/code/libc,
// internal/code/cuda), and so is where it lies in a file (internal/code/elffile). Analyses see instructions in the form
// of internal/code/isa. The header of a file names its processor ([NewText]); one package for each processor decodes
// its instructions.
//
// The package's only effect is to read through [io.ReaderAt]. The code may be hostile: all searches are bounded, code
// that is not understood counts as unknown, and nothing panics. Addresses are the file's virtual addresses.
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

// Present reports whether s is a site. The zero Site stands for none.
func (s Site) Present() bool { return s.Symbol != "" }

// site returns the site at an instruction, or the zero Site if the instruction takes no probe.
func (t *Text) site(name string, entry, addr uint64, pushed int32) Site {
	in, _ := t.decode(addr)
	off, ok := t.image.FileOffset(addr)
	if !ok || t.refuses(&in) {
		return Site{}
	}
	delta := int32(addr - entry)
	return Site{Symbol: name, Delta: delta, Address: addr, FileOffset: off, Pushed: pushed, Emulated: in.Emulated}
}

// refuses reports whether Linux refuses a probe on an instruction, or a probe there would break an exclusive access.
func (t *Text) refuses(in *isa.Instruction) bool {
	return in.Refused || t.arch.Unbroken != nil && t.arch.Unbroken(t.decode, in.Addr)
}

// At returns the site at an instruction, under a name of the caller's choice. Its Delta counts from the start of the
// function that contains the instruction.
func (t *Text) At(name string, addr uint64) Site {
	start := addr
	if s, ok := t.image.Fragment(addr); ok {
		start = s.Start
	}
	return t.site(name, start, addr, 0)
}

// maxFragment is the largest distance from the start of a function to an instruction that is decoded from there, in
// bytes.
const maxFragment = 1 << 20

// Begins reports whether an instruction begins at an address. It decodes the function from its start up to the address.
// A probe inside an instruction would destroy the code.
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

// Thunk returns the address that fn jumps to, if fn only jumps: it leaves the stack and its first arguments as they
// were. ok is false for any other function.
func (t *Text) Thunk(fn elffile.Symbol, arguments int) (target uint64, ok bool) {
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

// Entry returns a site at which an exported function's first arguments are seen, as [Text.EntryIn] chooses it. It
// returns the zero Site if the image does not define the function.
func (t *Text) Entry(name string, arguments int) Site {
	fn, ok := t.image.Function(name)
	if !ok {
		return Site{}
	}
	return t.EntryIn(name, fn, arguments)
}

// maxPrologue is how many instructions from the entry on a site is looked for.
const maxPrologue = 24

// maxPushed is how many bytes a function may have put on the stack before a site.
const maxPushed = 4096

// EntryIn chooses a site near a function's entry. Every call passes the site exactly once, with the first arguments
// still in their registers. EntryIn prefers the first emulated instruction, and else takes the first instruction that
// takes a probe.
func (t *Text) EntryIn(name string, fn elffile.Symbol, arguments int) Site {
	return t.entryWith(name, fn, t.arguments(arguments))
}

// entryWith does what EntryIn does. The registers in kept still have their contents at the site.
func (t *Text) entryWith(name string, fn elffile.Symbol, kept isa.Registers) Site {
	flow := exploreFunction(t, fn.Value, fn.Size)
	sp := stack{known: true}
	addr := fn.Value
	fallback := t.site(name, fn.Value, addr, 0)
	for range maxPrologue {
		in, ok := t.decode(addr)
		if !ok || flow.targets[addr] { // the target of a later jump may run more than once
			break
		}
		site := t.site(name, fn.Value, addr, int32(sp.pushed))
		if site.Emulated {
			return site
		}
		if !fallback.Present() {
			fallback = site
		}
		if in.MayWrite(kept) {
			break
		}
		if sp.step(&in); !sp.known || sp.pushed < 0 || sp.pushed > maxPushed {
			break
		}
		addr = in.End()
	}
	return fallback
}

// Returns returns the sites at which an exported function's result is seen. complete is false if the function may also
// be left in another way, such as by a call that does not return to it.
func (t *Text) Returns(name string) (sites []ReturnSite, complete bool) {
	return t.returnSites(name, nil)
}

// arguments returns the registers of a function's first n arguments.
func (t *Text) arguments(n int) isa.Registers {
	return isa.SetOf(t.arch.Arguments[:min(n, len(t.arch.Arguments))]...)
}
