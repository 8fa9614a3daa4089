package machine

import "ipytracer/internal/code/isa"

// maxToCompare is how many instructions are searched from a reference to a function to the comparison of its result.
const maxToCompare = 16

// Asks reports whether some code calls an imported function and compares its result, an int, with a number. Between the
// call and the comparison there is no other call and no unconditional jump. ok is false if there is too much code to be
// searched, see [Code.References].
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

// comparesResult reports whether the code at an address calls a function, at once or a little later through a register,
// and then compares the result with a number.
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

// isInt reports whether an operand is the result register of a function that returns an int.
func (t *Text) isInt(o *isa.Operand) bool {
	return o.Kind == isa.InRegister && o.Base == t.arch.Result && o.Width == 4
}
