package numpy

import "ipytracer/internal/code/machine"

// idleImports are the functions of other files that the handler's functions may call beside the allocator's: none takes
// or frees array data. All other calls are refused.
var idleImports = map[string]bool{
	"memset": true, "madvise": true,
	// Python's raw memory, to which NumPy's blocks do not belong any more from 2.4 on.
	"PyTraceMalloc_Untrack": true,
	// Without the GIL while calloc runs, before 2.4.
	"PyEval_SaveThread": true, "PyEval_RestoreThread": true,
}

// harmless returns an error unless a call in a function of the handler can be none that takes or frees array data.
func (f *finder) harmless(c machine.Call) error {
	switch {
	case c.Indirect:
		return refuse("the call through a pointer at %#x", c.Address)
	case c.Target != 0:
		if !f.isIdle(c.Target, 0) {
			return refuse("the call of the function at %#x", c.Target)
		}
	case !idleImports[c.Import]:
		return refuse("a call of %q at %#x", c.Import, c.Address)
	}
	return nil
}

// maxDepth is how deep functions are looked at that a function of the handler calls.
const maxDepth = 4

// isIdle reports whether a function of the file can neither take nor free memory, nor can any that it calls.
func (f *finder) isIdle(entry uint64, depth int) (idle bool) {
	if idle, known := f.idle[entry]; known {
		return idle
	}
	if depth == maxDepth {
		return false
	}
	f.idle[entry] = false // while it is looked at: one that calls itself is not understood
	r, err := f.routines.at(entry)
	if err != nil {
		return false
	}
	for _, c := range r.Calls() {
		if c.Indirect || c.Target == 0 && !idleImports[c.Import] || c.Target != 0 && !f.isIdle(c.Target, depth+1) {
			return false
		}
	}
	f.idle[entry] = true
	return true
}
