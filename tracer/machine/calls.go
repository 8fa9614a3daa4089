package machine

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// Reached returns those of some addresses at which the function that begins at an entry has an instruction, in its own range or in cold
// fragments that it jumps into.
func (t *Text) Reached(entry uint64, addrs []uint64) []uint64 {
	f := exploreFunction(t, entry, 0)
	return slices.DeleteFunc(slices.Clone(addrs), func(addr uint64) bool {
		_, reached := f.seen[addr]
		return !reached
	})
}

// BehindCall returns, under a name of the caller's choice, the first emulated instruction behind a call, if each return from the call
// comes by it with the stack pointer as it was at the call and the result in rax. Others may come by it as well.
func (t *Text) BehindCall(name string, call uint64) Site {
	in, ok := t.decode(call)
	if !ok || !in.calls() {
		return Site{}
	}
	for range maxBehind {
		if in, ok = t.decode(in.end()); !ok {
			break
		}
		if in.emulated() {
			return t.At(name, in.addr)
		}
		reg, known := in.writes()
		if !known || reg == x86asm.RAX || in.writesStackPointer() {
			break
		}
	}
	return Site{}
}
