package machine

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// CallsFrom returns the calls of a function, which must be among those that were asked for, and the jumps to it, in the function that
// begins at an entry, with the cold fragments that it jumps into. whole is false where there may be others: where the flow of control
// leaves that function for anywhere else or is not known, jumps to the function on a condition, or takes its address.
func (r *References) CallsFrom(entry uint64, name string) (calls []uint64, whole bool) {
	f := newFlow(r.text, entry, 0)
	f.tails = func(target uint64) tail {
		if r.stubs[target] == name {
			return tail{kind: tailEnds}
		}
		return tail{}
	}
	f.leaves = func(in *instruction) bool { return r.called(in) == name }
	f.explore(entry)
	whole = f.complete
	for addr := range f.seen {
		in, ok := r.text.decode(addr)
		switch {
		case ok && r.called(&in) == name && (in.calls() || in.goesAway()):
			calls = append(calls, addr)
		case !ok, r.mentions(&in, name):
			whole = false
		}
	}
	slices.Sort(calls)
	return calls, whole
}

// mentions says whether an instruction has a function's address in it, or the address of a pointer to it.
func (r *References) mentions(in *instruction, name string) bool {
	return slices.ContainsFunc(in.Args[:], func(arg x86asm.Arg) bool {
		var addr uint64
		switch a := arg.(type) {
		case x86asm.Mem:
			addr = uint64(a.Disp)
			if a.Base == x86asm.RIP {
				addr = in.end() + uint64(a.Disp)
			}
		case x86asm.Imm:
			addr = uint64(a)
		case x86asm.Rel:
			addr = in.end() + uint64(int64(a))
		}
		return r.stubs[addr] == name || r.slots[addr] == name
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
		if !known || reg == x86asm.RAX || in.movesStackPointer() {
			break
		}
	}
	return Site{}
}

// movesStackPointer says whether the stack pointer is, or may be, another behind the instruction.
func (in *instruction) movesStackPointer() bool {
	behind := stack{known: true}
	behind.step(in)
	return behind.pushed != 0 || !behind.known || in.writesStackPointer()
}
