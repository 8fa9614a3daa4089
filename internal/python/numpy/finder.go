package numpy

import (
	"errors"
	"fmt"

	"ipytracer/internal/code/machine"
)

// finder collects the sites of a file.
type finder struct {
	code     *machine.Code
	routines routines
	sites    Sites
	own      map[uint64]bool // functions that have been looked at
	idle     map[uint64]bool // functions of the file that are called, and whether none can take or free memory
	// zeroedInside: zeroed blocks are seen in the handler's function; else where it has returned.
	zeroedInside bool
	// returned are the slots of the handler with sites behind their calls.
	returned map[int64]bool
}

// role is the part of a function of an allocator.
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
	"PyMem_RawMalloc": allocates, "PyMem_RawCalloc": allocatesZeroed, "PyMem_RawRealloc": resizes,
	"PyMem_RawFree": frees,
}

// roleOf returns the part of the function that a call is to. One of the file's own may be called as it likes.
func roleOf(c machine.Call) role {
	if c.Target != 0 {
		return other
	}
	return roles[c.Import]
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnknown, fmt.Sprintf(format, args...))
}

// handlerFunctions looks at the four functions of the default handler.
func (f *finder) handlerFunctions() error {
	for _, one := range []struct {
		slot uint64
		look func(*machine.Routine) error
	}{{mallocSlot, f.allocations}, {callocSlot, f.zeroedAllocations}, {reallocSlot, f.reallocations},
		{freeSlot, f.freeing}} {
		entry, _ := f.code.Function(f.sites.Handler + one.slot)
		f.own[entry] = true
		r, err := f.routines.at(entry)
		if err != nil {
			return err
		}
		if err := one.look(r); err != nil {
			return err
		}
	}
	return nil
}

// amount is the number of bytes that a call asks for: a value of the routine's, or the product of two that it need not
// have worked out.
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
	if roleOf(c) == allocatesZeroed {
		return multiplied(r, c, 0, 1)
	}
	return asked(r, c, 0)
}

// allocations looks at the handler's function that takes memory.
func (f *finder) allocations(r *machine.Routine) error {
	size := amount{whole: r.Argument(1)}
	return f.within(r, size, func(c machine.Call) error { return f.made(r, c, size) })
}

// zeroedAllocations looks at the one that takes memory full of zeros.
func (f *finder) zeroedAllocations(r *machine.Routine) error {
	f.zeroedInside = true
	return f.within(r, product(r, r.Argument(1), r.Argument(2)), func(c machine.Call) error {
		err := f.made(r, c, amountOf(r, c))
		if errors.Is(err, errBehind) && roleOf(c) == allocatesZeroed {
			f.zeroedInside, err = false, nil // its size is gone by then (before NumPy 2.0)
		}
		return err
	})
}

// within calls see for each allocation in r that can be a large block. It fails if one requests another size than
// whole, the size that r is asked for, or if r can allocate a large block in any other way.
func (f *finder) within(r *machine.Routine, whole amount, see func(machine.Call) error) error {
	var seen []machine.Call
	for _, c := range r.Calls() {
		switch roleOf(c) {
		case allocates, allocatesZeroed:
		case other:
			if err := f.harmless(c); err != nil {
				return err
			}
			continue
		default:
			return refuse("an allocation by %s at %#x", c.Import, c.Address)
		}
		size := amountOf(r, c)
		if limit, ok := r.AtMost(c, size.whole); ok && limit < Large {
			continue
		}
		if size.whole == 0 || size.whole != whole.whole {
			return refuse("how much the allocation at %#x asks for", c.Address)
		}
		if err := see(c); err != nil {
			return err
		}
		seen = append(seen, c)
	}
	return passes(r, seen, machine.Limits{whole.whole: Large - 1})
}

// passes returns an error where a way through a function leads past all of some calls, on which none of some values is
// within its limit.
func passes(r *machine.Routine, calls []machine.Call, apart machine.Limits) error {
	if !r.Passes(calls, apart) {
		return refuse("a way through the function at %#x, which a large block may take", r.Entry())
	}
	return nil
}

// errBehind is the error where no place behind an allocation has all the needed values.
var errBehind = errors.New("what comes behind the allocation")

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
		return fmt.Errorf("%w: %w at %#x", ErrUnknown, errBehind, c.Address)
	}
	s := Site{Site: site, Block: places[0], Size: places[1], HasSize: true}
	if len(places) > 2 {
		s.Times, s.HasTimes = places[2], true
	}
	return f.add(&f.sites.Made, s)
}

// add adds a site to those of its kind. The functions of a file may share code: a place that is there already stays as
// it is, if it is the same in both.
func (f *finder) add(to *[]Site, s Site) error {
	for _, old := range *to {
		if old.Address != s.Address {
			continue
		}
		if old.Delta = s.Delta; old != s {
			return refuse("the place at %#x, which two functions share", s.Address)
		}
		return nil
	}
	if len(f.sites.All())+len(f.sites.Handlers) == maxSites {
		return refuse("more than %d places", maxSites)
	}
	*to = append(*to, s)
	return nil
}

// reallocations looks at the handler's function that resizes.
func (f *finder) reallocations(r *machine.Routine) error {
	var seen []machine.Call
	for _, c := range r.Calls() {
		var err error
		switch roleOf(c) {
		case resizes:
			err = f.resizing(r, c, r.Argument(1), r.Argument(2))
			seen = append(seen, c)
		case other:
			err = f.harmless(c)
		default:
			err = refuse("realloc by %s at %#x", c.Import, c.Address)
		}
		if err != nil {
			return err
		}
	}
	return passes(r, seen, nil)
}

// resizing adds the call of realloc.
func (f *finder) resizing(r *machine.Routine, c machine.Call, block, size machine.Value) error {
	site, places, ok := r.At(c, block, size)
	if !ok || r.Passed(c, 0) != block || r.Passed(c, 1) != size {
		return refuse("the reallocation at %#x", c.Address)
	}
	return f.add(&f.sites.Resizing, Site{Site: site, Block: places[0], Size: places[1], HasSize: true})
}

// resized adds the site behind a call that resizes.
func (f *finder) resized(r *machine.Routine, c machine.Call) error {
	site, places, ok := r.Behind(c, r.Result(c))
	if !ok {
		return refuse("what comes behind the reallocation at %#x", c.Address)
	}
	return f.add(&f.sites.Resized, Site{Site: site, Block: places[0]})
}

// freeing adds the sites of the handler's function that frees: where free is called, if that is cheap, else where the
// function begins.
func (f *finder) freeing(r *machine.Routine) error {
	block, size := r.Argument(1), r.Argument(2)
	var sites []Site
	var seen []machine.Call
	sure := true
	for _, c := range r.Calls() {
		switch roleOf(c) {
		case frees:
			seen = append(seen, c)
			site, places, ok := r.At(c, block)
			if sure = sure && ok && site.Emulated && r.Passed(c, 0) == block; !sure {
				continue
			}
			one := Site{Site: site, Block: places[0]}
			if _, places, ok := r.At(c, size); ok {
				one.Size, one.HasSize = places[0], true
			} else {
				one.Size, one.MaybeSize = r.Before(c, size, machine.Limits{size: Large - 1, block: 0})
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
	if !sure {
		site, places, ok := r.First(block, size)
		if !ok {
			return refuse("where the free at %#x begins", site.Address)
		}
		sites = []Site{{Site: site, Block: places[0], Size: places[1], HasSize: true}}
	}
	for _, s := range sites {
		if err := f.add(&f.sites.Freed, s); err != nil {
			return err
		}
	}
	return passes(r, seen, machine.Limits{size: Large - 1, block: 0})
}

// complete returns an error unless everything that must be there has been found.
func (f *finder) complete() error {
	s := &f.sites
	switch {
	case len(s.Made) < 2 || len(s.Freed) < 2 || len(s.Resizing) == 0 || len(s.Resized) == 0:
		return refuse("%d places of allocations, %d of frees, %d and %d of reallocations",
			len(s.Made), len(s.Freed), len(s.Resizing), len(s.Resized))
	case !f.returned[mallocSlot] || !f.returned[callocSlot] || !f.returned[reallocSlot]:
		return refuse("where the handler's functions are called")
	}
	return nil
}

// maxSites is more than any build has, with those where handlers are set.
const maxSites = 64
