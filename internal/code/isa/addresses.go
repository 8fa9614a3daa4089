package isa

// Addresses are the addresses in a file that registers are known to hold, because the code that makes them was seen.
// Code makes an address in one step, or in two: one instruction makes the address of a page, and the next one adds the
// rest. The zero value knows none.
type Addresses struct {
	known Registers
	held  [MaxRegisters]uint64
}

// Any reports whether one is known.
func (k *Addresses) Any() bool { return k.known != 0 }

// Of returns the address of an operand in memory.
func (k *Addresses) Of(m *Operand) (addr uint64, ok bool) {
	switch {
	case m.Index != None || m.Apart:
		return 0, false
	case m.Kind == AtAddress:
		return uint64(m.Value), true
	case m.Kind == InMemory && k.known&m.Base.Set() != 0:
		return k.held[m.Base.Number()] + uint64(m.Value), true
	}
	return 0, false
}

// Step follows an instruction's effect. A call loses some registers.
func (k *Addresses) Step(in *Instruction, clobbered Registers) {
	to, made := uint64(0), false
	switch from := &in.Operands[1]; {
	case in.Kind == Call:
		k.known &^= clobbered
		return
	case !in.Plain:
		if !in.Jumps() && in.Kind != Return {
			k.known = 0
		}
		return
	case in.Kind == Address:
		to, made = k.Of(from)
	case in.Kind == Move && from.Whole() && k.known&from.Base.Set() != 0:
		to, made = k.held[from.Base.Number()], true
	}
	k.known &^= in.Writes.Set() | in.Also
	if made && in.Writes != None {
		k.known |= in.Writes.Set()
		k.held[in.Writes.Number()] = to
	}
}
