package machine

import "ipytracer/internal/code/isa"

// Register is where a function's result lies at a [ReturnSite]; [Returned] where functions return it.
type Register = isa.Result

// Returned is the register that functions return in.
const Returned = isa.Returned

// Condition is the state of the flags with which a hit counts.
type Condition = isa.Condition

// resultRegister chooses one of the locations that hold a result: zero before any other.
func (g *graph) resultRegister(l locations) (Register, bool) {
	best, found := Register(0), false
	for r, place := range g.arch.Results {
		switch {
		case place.Register == isa.None && l&zero != 0:
			return Register(r), true
		case !found && l&general(place.Register) != 0:
			best, found = Register(r), true
		}
	}
	return best, found
}
