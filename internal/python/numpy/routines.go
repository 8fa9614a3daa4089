package numpy

import (
	"ipytracer/internal/code/machine"
)

// Bounds on the search in a file. Known builds have at most a fifth of these numbers. A function takes some
// milliseconds.
const (
	maxReferences = 256 // references to a function of Python
	maxRoutines   = 128 // functions of the file itself
)

// routines has the functions of a file that have been looked at, each once.
type routines struct {
	code  *machine.Code
	known map[uint64]*machine.Routine // by entry; nil for a function that is not understood
}

// at returns the function that begins at an address. It fails where the function is not understood, or there have been
// too many.
func (r *routines) at(entry uint64) (*machine.Routine, error) {
	routine, known := r.known[entry]
	if !known {
		if len(r.known) == maxRoutines {
			return nil, refuse("more than %d functions are to be looked at", maxRoutines)
		}
		routine, _ = r.code.Routine(entry)
		r.known[entry] = routine
	}
	if routine == nil {
		return nil, refuse("cannot follow the function at %#x", entry)
	}
	return routine, nil
}

// references returns where the file refers to a function of Python, and the functions around these places.
func (r *routines) references(name string) (all []reference, err error) {
	addrs, ok := r.code.References(name, maxReferences)
	if !ok {
		return nil, refuse("there is too much that refers to %s", name)
	}
	for _, addr := range addrs {
		entry, ok := r.code.Enclosing(addr)
		if !ok {
			return nil, refuse("cannot find the function around %#x, which refers to %s", addr, name)
		}
		routine, err := r.at(entry)
		if err != nil {
			return nil, err
		}
		if !routine.Has(addr) {
			return nil, refuse("cannot follow the function at %#x to its reference to %s", entry, name)
		}
		all = append(all, reference{addr, routine})
	}
	return all, nil
}

// reference is an instruction that refers to a function of Python, with the function of the file that it is in.
type reference struct {
	addr uint64
	*machine.Routine
}
