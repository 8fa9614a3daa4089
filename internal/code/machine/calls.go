package machine

import (
	"slices"

	"ipytracer/internal/code/isa"
)

// CallsFrom returns the calls of a function, which must be among those that were asked for, and the jumps to it, in the
// function that begins at an entry, with the cold fragments that it jumps into. whole is false where there may be
// others: where the flow of control leaves that function for anywhere else or is not known, jumps to the function on a
// condition, or takes its address.
func (r *References) CallsFrom(entry uint64, name string) (calls []uint64, whole bool) {
	f := newFlow(r.text, entry, 0)
	f.tails = func(target uint64) tail {
		if r.stubs[target] == name {
			return tail{kind: tailEnds}
		}
		return tail{}
	}
	f.leaves = func(in *isa.Instruction) bool { return r.called(in) == name }
	f.explore(entry)
	whole = f.complete
	for addr := range f.seen {
		in, ok := r.text.decode(addr)
		switch {
		case ok && r.called(&in) == name && (in.Kind == isa.Call || in.Kind == isa.Jump):
			calls = append(calls, addr)
		case !ok, r.mentions(&in, name), r.takes(addr, name):
			whole = false
		}
	}
	slices.Sort(calls)
	return calls, whole
}

// mentions reports whether an instruction contains a function's address, or the address of a pointer to it.
func (r *References) mentions(in *isa.Instruction, name string) bool {
	return slices.ContainsFunc(in.Operands[:], func(o isa.Operand) bool {
		addr := uint64(o.Value)
		if o.Kind == isa.Elsewhere {
			addr = 0
		}
		return r.stubs[addr] == name || r.slots[addr] == name
	})
}

// BehindCall returns, under a name of the caller's choice, the first emulated instruction behind a call, if each return
// from the call comes by it with the stack pointer as it was at the call and the result in its register. Others may
// come by it as well.
func (t *Text) BehindCall(name string, call uint64) Site {
	in, ok := t.decode(call)
	if !ok || in.Kind != isa.Call {
		return Site{}
	}
	for range maxBehind {
		if in, ok = t.decode(in.End()); !ok {
			break
		}
		if in.Emulated && !t.refuses(&in) {
			return t.At(name, in.Addr)
		}
		if in.MayWrite(t.arch.Result.Set()) || t.movesStackPointer(&in) {
			break
		}
	}
	return Site{}
}

// movesStackPointer reports whether the stack pointer is, or may be, another behind the instruction.
func (t *Text) movesStackPointer(in *isa.Instruction) bool {
	behind := stack{known: true}
	behind.step(in)
	return behind.pushed != 0 || !behind.known || in.Writes == t.arch.StackPointer
}
