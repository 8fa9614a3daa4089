package numpy

import (
	"fmt"

	"ipytracer/tracer/machine"
)

// finder collects the sites of a file.
type finder struct {
	code  *machine.Code
	sites Sites
	own   map[uint64]bool // functions that have been looked at
	// zeroedInside: zeroed blocks are seen in the handler's function; else where it has returned.
	zeroedInside bool
}

// role is what a function of an allocator does.
type role uint8

const (
	other role = iota
	allocates
	allocatesZeroed
	resizes
	frees
)

// roles are the functions that NumPy takes memory with: the C library's until 2.4, Python's since.
var roles = map[string]role{
	"malloc": allocates, "calloc": allocatesZeroed, "realloc": resizes, "free": frees,
	"PyMem_RawMalloc": allocates, "PyMem_RawCalloc": allocatesZeroed, "PyMem_RawRealloc": resizes, "PyMem_RawFree": frees,
}

// unknown are functions by which memory could be taken or given back in ways that are not looked for.
var unknown = map[string]bool{
	"reallocarray": true, "aligned_alloc": true, "posix_memalign": true, "memalign": true, "mmap": true, "munmap": true, "mremap": true,
	"PyMem_Malloc": true, "PyMem_Calloc": true, "PyMem_Realloc": true, "PyMem_Free": true,
	"PyObject_Malloc": true, "PyObject_Calloc": true, "PyObject_Realloc": true, "PyObject_Free": true,
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnknown, fmt.Sprintf(format, args...))
}

// handlerFunctions looks at the four functions of the default handler.
func (f *finder) handlerFunctions() error {
	routine := func(slot uint64) (*machine.Routine, error) {
		entry, _ := f.code.Function(f.sites.Handler + slot)
		f.own[entry] = true
		r, ok := f.code.Routine(entry)
		if !ok {
			return nil, refuse("the handler's function at %#x", entry)
		}
		return r, nil
	}
	for _, slot := range []uint64{mallocSlot, callocSlot} {
		r, err := routine(slot)
		if err != nil {
			return err
		}
		if err := f.allocations(r, slot == callocSlot); err != nil {
			return err
		}
	}
	r, err := routine(reallocSlot)
	if err != nil {
		return err
	}
	for _, c := range r.Calls() {
		switch roles[c.Import] {
		case resizes:
			err = f.resizing(r, c, r.Argument(1), r.Argument(2))
		case other:
			err = harmless(r, c)
		default:
			err = refuse("realloc by %s at %#x", c.Import, c.Address)
		}
		if err != nil {
			return err
		}
	}
	if r, err = routine(freeSlot); err != nil {
		return err
	}
	return f.freeing(r, r.Argument(1), r.Argument(2))
}

// harmless says whether a call in a function that is looked at can be none that takes or frees array data.
func harmless(r *machine.Routine, c machine.Call) error {
	if unknown[c.Import] || c.Import == "" && c.Tail {
		return refuse("a call of %q at %#x", c.Import, c.Address)
	}
	return nil
}

// allocations looks at a handler's function that takes memory: each call that may be for a large block must be followed by a site.
func (f *finder) allocations(r *machine.Routine, zeroed bool) error {
	f.zeroedInside = f.zeroedInside || zeroed
	for _, c := range r.Calls() {
		var size machine.Value
		switch roles[c.Import] {
		case allocates:
			size = r.Passed(c, 0)
		case allocatesZeroed:
			size = r.Product(r.Passed(c, 0), r.Passed(c, 1))
		case other:
			if err := harmless(r, c); err != nil {
				return err
			}
			continue
		default:
			return refuse("an allocation by %s at %#x", c.Import, c.Address)
		}
		if limit, ok := r.AtMost(c, size); ok && limit < Large {
			continue
		}
		err := f.made(r, c, size)
		if err != nil && zeroed && roles[c.Import] == allocatesZeroed {
			f.zeroedInside, err = false, nil // its size is gone by then (before NumPy 2.0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// made adds the site behind a call that takes memory.
func (f *finder) made(r *machine.Routine, c machine.Call, size machine.Value) error {
	site, places, ok := r.Behind(c, r.Result(c), size)
	if !ok {
		return refuse("what comes behind the allocation at %#x", c.Address)
	}
	f.sites.Made = append(f.sites.Made, Site{Site: site, Block: places[0], Size: places[1], HasSize: true})
	return nil
}

// resizing adds the call of realloc.
func (f *finder) resizing(r *machine.Routine, c machine.Call, block, size machine.Value) error {
	site, places, ok := r.At(c, block, size)
	if !ok || !site.Emulated && r.Passed(c, 0) != block {
		return refuse("the reallocation at %#x", c.Address)
	}
	f.sites.Resizing = append(f.sites.Resizing, Site{Site: site, Block: places[0], Size: places[1], HasSize: true})
	return nil
}

// resized adds the site behind a call that resizes.
func (f *finder) resized(r *machine.Routine, c machine.Call) error {
	site, places, ok := r.Behind(c, r.Result(c))
	if !ok {
		return refuse("what comes behind the reallocation at %#x", c.Address)
	}
	f.sites.Resized = append(f.sites.Resized, Site{Site: site, Block: places[0]})
	return nil
}

// freeing adds the sites of the handler's function that frees: where free is called, if that is cheap, else where the function begins.
func (f *finder) freeing(r *machine.Routine, block, size machine.Value) error {
	var sites []Site
	sure := true
	for _, c := range r.Calls() {
		switch roles[c.Import] {
		case frees:
			site, places, ok := r.At(c, block)
			if sure = sure && ok && site.Emulated && r.Passed(c, 0) == block; !sure {
				continue
			}
			one := Site{Site: site, Block: places[0]}
			if _, places, ok := r.At(c, size); ok {
				one.Size, one.HasSize = places[0], true
			} else {
				one.Size, one.MaybeSize = r.Before(c, size)
			}
			sites = append(sites, one)
		case other:
			if err := harmless(r, c); err != nil {
				return err
			}
		default:
			return refuse("a free by %s at %#x", c.Import, c.Address)
		}
	}
	if !sure || len(sites) == 0 {
		site, places, ok := r.First(block, size)
		if !ok {
			return refuse("where the free at %#x begins", site.Address)
		}
		sites = []Site{{Site: site, Block: places[0], Size: places[1], HasSize: true}}
	}
	f.sites.Freed = append(f.sites.Freed, sites...)
	return nil
}

// callers looks at every function that tells tracemalloc of a block.
func (f *finder) callers() error {
	var references []uint64
	for _, name := range []string{"PyTraceMalloc_Track", "PyTraceMalloc_Untrack"} {
		addrs, ok := f.code.References(name)
		if !ok {
			return refuse("there is too much of it")
		}
		references = append(references, addrs...)
	}
	if len(references) == 0 {
		return refuse("it does not call PyTraceMalloc_Track")
	}
	for _, addr := range references {
		entry, ok := f.code.Enclosing(addr)
		if !ok {
			return refuse("the function around %#x", addr)
		}
		if f.own[entry] {
			continue
		}
		f.own[entry] = true
		r, ok := f.code.Routine(entry)
		if !ok || !r.Has(addr) {
			return refuse("the function at %#x, which calls tracemalloc", entry)
		}
		if err := f.caller(r, entry); err != nil {
			return err
		}
	}
	return nil
}

// caller looks at one of them: it calls the functions of a handler, or the allocator itself.
func (f *finder) caller(r *machine.Routine, entry uint64) error {
	understood := false
	for _, c := range r.Calls() {
		var err error
		switch roles[c.Import] {
		case allocates:
			err = f.made(r, c, r.Passed(c, 0))
		case allocatesZeroed:
			err = f.made(r, c, r.Product(r.Passed(c, 0), r.Passed(c, 1)))
		case resizes:
			if err = f.resizing(r, c, r.Passed(c, 0), r.Passed(c, 1)); err == nil {
				err = f.resized(r, c)
			}
		case frees:
			site, places, ok := r.At(c, r.Passed(c, 0))
			if !ok {
				return refuse("the free at %#x", c.Address)
			}
			f.sites.Freed = append(f.sites.Freed, Site{Site: site, Block: places[0]})
		default:
			ours := c.Indirect && c.Slot >= mallocSlot && c.Slot <= freeSlot
			switch {
			case ours && c.Slot == reallocSlot:
				err = f.resized(r, c)
			case ours && c.Slot == callocSlot && !f.zeroedInside:
				err = f.made(r, c, r.Product(r.Passed(c, 1), r.Passed(c, 2)))
			case !ours:
				if err = harmless(r, c); err != nil {
					return err
				}
				continue
			}
		}
		if err != nil {
			return err
		}
		understood = true
	}
	if !understood {
		return refuse("the function at %#x, which calls tracemalloc", entry)
	}
	return nil
}

// settings looks for where a memory handler is set: PyContextVar_Set(variable, capsule).
func (f *finder) settings() error {
	references, ok := f.code.References("PyContextVar_Set")
	if !ok || len(references) == 0 {
		return refuse("where a memory handler is set")
	}
	for _, addr := range references {
		entry, _ := f.code.Enclosing(addr)
		r, ok := f.code.Routine(entry)
		if !ok {
			return refuse("the function at %#x, which sets a context variable", entry)
		}
		for _, c := range r.Calls() {
			if c.Address != addr {
				continue
			}
			site, places, ok := r.At(c, r.Passed(c, 1))
			variable, loaded := r.Loaded(r.Passed(c, 0))
			if !ok || !loaded || f.sites.Variable != 0 && f.sites.Variable != variable {
				return refuse("the context variable that is set at %#x", addr)
			}
			f.sites.Variable = variable
			f.sites.Handlers = append(f.sites.Handlers, Site{Site: site, Block: places[0]})
		}
	}
	if len(f.sites.Handlers) == 0 {
		return refuse("where a memory handler is set")
	}
	return nil
}

// complete says whether everything that must be there has been found.
func (f *finder) complete() error {
	s := &f.sites
	if len(s.Made) < 2 || len(s.Freed) == 0 || len(s.Resizing) == 0 || len(s.Resized) == 0 {
		return refuse("%d places of allocations, %d of frees, %d and %d of reallocations",
			len(s.Made), len(s.Freed), len(s.Resizing), len(s.Resized))
	}
	if len(s.All()) > maxSites {
		return refuse("%d places", len(s.All()))
	}
	return nil
}

// maxSites is more than any build has.
const maxSites = 64
