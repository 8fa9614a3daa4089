package machine

import "ipytracer/internal/code/isa"

// maxToCompare is the greatest number of instructions between a reference to a function, its call, and a comparison of
// its result.
const maxToCompare = 16

// Asks reports whether some code calls an imported function and compares its result, an int, with a number. The
// comparison is one that follows the call before any other call or jump that is always taken. ok is false where there
// is too much to look at, see [Code.References].
func (c *Code) Asks(name string, number int32, limit int) (asks, ok bool) {
	addrs, ok := c.References(name, limit)
	if !ok {
		return false, false
	}
	for _, addr := range addrs {
		if c.comparesResult(addr, number) {
			return true, true
		}
	}
	return false, true
}

// comparesResult reports whether the function that is referred to at an address is called there, or a little later
// through a register, and its result is compared with a number.
func (c *Code) comparesResult(addr uint64, number int32) bool {
	called := false
	for range maxToCompare {
		in, ok := c.text.decode(addr)
		switch {
		case !ok, in.Kind == isa.Return, in.Kind == isa.Trap, in.Kind == isa.Jump, in.Kind == isa.Call && called:
			return false
		case called && in.Kind == isa.Compare && c.text.isInt(&in.Operands[0]):
			if with := &in.Operands[1]; with.Kind == isa.Constant && int32(with.Value) == number {
				return true
			}
		}
		called = called || in.Kind == isa.Call
		addr = in.End()
	}
	return false
}

// isInt reports whether an operand is an int that a function has given back.
func (t *Text) isInt(o *isa.Operand) bool {
	return o.Kind == isa.InRegister && o.Base == t.arch.Result && o.Width == 4
}
