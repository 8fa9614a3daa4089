package isa

// Addresses follows the registers that hold an address in the file. Code makes such an address with one instruction, or
// with two: the first makes the address of a page, the second adds the offset in it. The zero value knows no address.
type Addresses struct {
	known Registers
	held  [MaxRegisters]uint64
}

// Any reports whether any register is known to hold an address.
func (k *Addresses) Any() bool { return k.known != 0 }

// Of returns the address of an operand in memory, if it is known.
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

// Step updates k for the next instruction. clobbered are the registers that a call may change.
func (k *Addresses) Step(in *Instruction, clobbered Registers) {
	addr, known := uint64(0), false // what in.Writes holds afterwards
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
		addr, known = k.Of(from)
	case in.Kind == Move && from.Whole() && k.known&from.Base.Set() != 0:
		addr, known = k.held[from.Base.Number()], true
	}
	k.known &^= in.Writes.Set() | in.Also
	if known && in.Writes != None {
		k.known |= in.Writes.Set()
		k.held[in.Writes.Number()] = addr
	}
}
