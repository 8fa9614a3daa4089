package numpy

import "ipytracer/internal/code/machine"

// idleImports are the functions of other files that the handler's functions may call besides the allocator's, because
// none of them takes or frees array data. A call of any other function is refused.
var idleImports = map[string]bool{
	"memset": true, "madvise": true,
	// Python's raw memory, to which NumPy's blocks do not belong any more from 2.4 on.
	"PyTraceMalloc_Untrack": true,
	// Without the GIL while calloc runs, before 2.4.
	"PyEval_SaveThread": true, "PyEval_RestoreThread": true,
}

// mustBeHarmless returns an error unless a call in a function of the handler certainly does not take or free array
// data.
func (f *finder) mustBeHarmless(c machine.Call) error {
	switch {
	case c.Indirect:
		return refuse("cannot follow the call through a pointer at %#x", c.Address)
	case c.Target != 0:
		if !f.isIdle(c.Target, 0) {
			return refuse("memory may be taken or freed by the call of the function at %#x", c.Target)
		}
	case !idleImports[c.Import]:
		return refuse("memory may be taken or freed by a call of %q at %#x", c.Import, c.Address)
	}
	return nil
}

// maxDepth bounds the nested calls that are followed from a function of the handler.
const maxDepth = 4

// isIdle reports whether a function of the file, and every function that it calls, can neither take nor free memory.
func (f *finder) isIdle(entry uint64, depth int) (idle bool) {
	if idle, known := f.idle[entry]; known {
		return idle
	}
	if depth == maxDepth {
		return false
	}
	f.idle[entry] = false // so that a function that calls itself is not idle
	r, err := f.routines.at(entry)
	if err != nil {
		return false
	}
	for _, c := range r.Calls() {
		callsImport := c.Target == 0
		switch {
		case c.Indirect:
			return false
		case callsImport && !idleImports[c.Import], !callsImport && !f.isIdle(c.Target, depth+1):
			return false
		}
	}
	f.idle[entry] = true
	return true
}
