package machine

import (
	"slices"

	"ipytracer/internal/code/isa"
)

// CallsFrom returns the addresses at which the function at entry, with its cold fragments, calls the function name or
// jumps to it. [Text.Refer] must have been asked for that name. whole is false if there may be more calls: the function
// at entry may be left for other code, is not understood, jumps to name on a condition, or takes its address.
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

// BehindCall returns a site at the first emulated instruction behind a call, under a name of the caller's choice. Each
// return from the call passes the site, with the stack pointer as it was at the call and the result still in its
// register. Control may also come to the site in other ways. BehindCall returns the zero Site if there is none.
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

// movesStackPointer reports whether the instruction may change the stack pointer.
func (t *Text) movesStackPointer(in *isa.Instruction) bool {
	behind := stack{known: true}
	behind.step(in)
	return behind.pushed != 0 || !behind.known || in.Writes == t.arch.StackPointer
}
