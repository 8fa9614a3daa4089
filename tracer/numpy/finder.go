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
	idle  map[uint64]bool // functions of the file that are called, and whether none can take or free memory
	// zeroedInside: zeroed blocks are seen in the handler's function; else where it has returned.
	zeroedInside bool
	// returned are the slots of the handler behind whose calls there are sites.
	returned map[int64]bool
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
	for _, one := range []struct {
		slot uint64
		look func(*machine.Routine) error
	}{{mallocSlot, f.allocations}, {callocSlot, f.zeroedAllocations}, {reallocSlot, f.reallocations}, {freeSlot, f.freeing}} {
		entry, _ := f.code.Function(f.sites.Handler + one.slot)
		f.own[entry] = true
		r, ok := f.code.Routine(entry)
		if !ok {
			return refuse("the handler's function at %#x", entry)
		}
		if err := one.look(r); err != nil {
			return err
		}
	}
	return nil
}

// harmless says whether a call in a function of the handler can be none that takes or frees array data.
func (f *finder) harmless(c machine.Call) error {
	switch {
	case unknown[c.Import]:
		return refuse("a call of %q at %#x", c.Import, c.Address)
	case c.Indirect:
		return refuse("the call through a pointer at %#x", c.Address)
	case c.Target != 0 && !f.isIdle(c.Target, 0):
		return refuse("the call of the function at %#x", c.Target)
	}
	return nil
}

// Bounds on how deep, and how many, functions are looked at that a function of the handler calls.
const (
	maxDepth = 4
	maxIdle  = 64
)

// isIdle says whether a function of the file can neither take nor free memory, nor can any that it calls.
func (f *finder) isIdle(entry uint64, depth int) (idle bool) {
	if idle, known := f.idle[entry]; known {
		return idle
	}
	if depth == maxDepth || len(f.idle) == maxIdle {
		return false
	}
	f.idle[entry] = false // while it is looked at: one that calls itself is not understood
	r, ok := f.code.Routine(entry)
	if !ok {
		return false
	}
	for _, c := range r.Calls() {
		if roles[c.Import] != other || unknown[c.Import] || c.Indirect || c.Target != 0 && !f.isIdle(c.Target, depth+1) {
			return false
		}
	}
	f.idle[entry] = true
	return true
}

// amount is how many bytes a call asks for: a value of the routine's, or the product of two that it need not have worked out.
type amount struct {
	whole   machine.Value
	factors []machine.Value // two, or none
}

// asked is an amount that a call passes as it is.
func asked(r *machine.Routine, c machine.Call, argument int) amount {
	return amount{whole: r.Passed(c, argument)}
}

// multiplied is an amount that a call passes as so many elements of a size.
func multiplied(r *machine.Routine, c machine.Call, elements, size int) amount {
	return product(r, r.Passed(c, elements), r.Passed(c, size))
}

func product(r *machine.Routine, elements, size machine.Value) amount {
	return amount{whole: r.Product(elements, size), factors: []machine.Value{elements, size}}
}

// amountOf is how many bytes a call of a function that takes memory asks for.
func amountOf(r *machine.Routine, c machine.Call) amount {
	if roles[c.Import] == allocatesZeroed {
		return multiplied(r, c, 0, 1)
	}
	return asked(r, c, 0)
}

// allocations looks at the handler's function that takes memory.
func (f *finder) allocations(r *machine.Routine) error {
	n, err := f.within(r, amount{whole: r.Argument(1)}, func(c machine.Call, size amount) error { return f.made(r, c, size) })
	if err == nil && n == 0 {
		err = refuse("the handler's malloc allocates nothing")
	}
	return err
}

// zeroedAllocations looks at the one that takes memory full of zeros.
func (f *finder) zeroedAllocations(r *machine.Routine) error {
	f.zeroedInside = true
	n, err := f.within(r, product(r, r.Argument(1), r.Argument(2)), func(c machine.Call, size amount) error {
		err := f.made(r, c, size)
		if err != nil && roles[c.Import] == allocatesZeroed {
			f.zeroedInside, err = false, nil // its size is gone by then (before NumPy 2.0)
		}
		return err
	})
	if err == nil && n == 0 {
		err = refuse("the handler's calloc allocates nothing")
	}
	return err
}

// within calls see with each call in a function of the handler that may take a large block. All of them ask for as much as the function is
// asked for.
func (f *finder) within(r *machine.Routine, whole amount, see func(machine.Call, amount) error) (n int, err error) {
	for _, c := range r.Calls() {
		switch roles[c.Import] {
		case allocates, allocatesZeroed:
		case other:
			if err := f.harmless(c); err != nil {
				return n, err
			}
			continue
		default:
			return n, refuse("an allocation by %s at %#x", c.Import, c.Address)
		}
		size := amountOf(r, c)
		if limit, ok := r.AtMost(c, size.whole); ok && limit < Large {
			continue
		}
		if size.whole == 0 || size.whole != whole.whole {
			return n, refuse("how much the allocation at %#x asks for", c.Address)
		}
		if err := see(c, size); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// found looks for a place behind a call, and where the block and its size lie there.
type found func(c machine.Call, values ...machine.Value) (machine.Site, []machine.Place, bool)

// made adds the site behind a call that takes memory, the first of those that some searches find.
func (f *finder) made(r *machine.Routine, c machine.Call, size amount, searches ...found) error {
	var site machine.Site
	var places []machine.Place
	ok := false
	for _, find := range append([]found{r.Behind}, searches...) {
		if site, places, ok = find(c, r.Result(c), size.whole); !ok && size.factors != nil {
			site, places, ok = find(c, append([]machine.Value{r.Result(c)}, size.factors...)...)
		}
		if ok {
			break
		}
	}
	if !ok {
		return refuse("what comes behind the allocation at %#x", c.Address)
	}
	s := Site{Site: site, Block: places[0], Size: places[1], HasSize: true}
	if len(places) > 2 {
		s.Times, s.HasTimes = places[2], true
	}
	f.sites.Made = append(f.sites.Made, s)
	return nil
}

// reallocations looks at the handler's function that resizes.
func (f *finder) reallocations(r *machine.Routine) error {
	n := 0
	for _, c := range r.Calls() {
		var err error
		switch roles[c.Import] {
		case resizes:
			err = f.resizing(r, c, r.Argument(1), r.Argument(2))
			n++
		case other:
			err = f.harmless(c)
		default:
			err = refuse("realloc by %s at %#x", c.Import, c.Address)
		}
		if err != nil {
			return err
		}
	}
	if n == 0 {
		return refuse("the handler's realloc resizes nothing")
	}
	return nil
}

// resizing adds the call of realloc.
func (f *finder) resizing(r *machine.Routine, c machine.Call, block, size machine.Value) error {
	site, places, ok := r.At(c, block, size)
	if !ok || r.Passed(c, 0) != block || r.Passed(c, 1) != size {
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
func (f *finder) freeing(r *machine.Routine) error {
	block, size := r.Argument(1), r.Argument(2)
	var sites []Site
	sure, n := true, 0
	for _, c := range r.Calls() {
		switch roles[c.Import] {
		case frees:
			n++
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
			if err := f.harmless(c); err != nil {
				return err
			}
		default:
			return refuse("a free by %s at %#x", c.Import, c.Address)
		}
	}
	if n == 0 {
		return refuse("the handler's free frees nothing")
	}
	if !sure {
		site, places, ok := r.First(block, size)
		if !ok {
			return refuse("where the free at %#x begins", site.Address)
		}
		sites = []Site{{Site: site, Block: places[0], Size: places[1], HasSize: true}}
	}
	f.sites.Freed = append(f.sites.Freed, sites...)
	return nil
}

// complete says whether everything that must be there has been found.
func (f *finder) complete() error {
	s := &f.sites
	switch {
	case len(s.Made) < 2 || len(s.Freed) < 2 || len(s.Resizing) == 0 || len(s.Resized) == 0:
		return refuse("%d places of allocations, %d of frees, %d and %d of reallocations",
			len(s.Made), len(s.Freed), len(s.Resizing), len(s.Resized))
	case !f.returned[mallocSlot] || !f.returned[callocSlot] || !f.returned[reallocSlot]:
		return refuse("where the handler's functions are called")
	case len(s.All()) > maxSites:
		return refuse("%d places", len(s.All()))
	}
	return nil
}

// maxSites is more than any build has.
const maxSites = 64
