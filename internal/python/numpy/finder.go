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
	lookedAt map[uint64]bool // functions that have been looked at, by entry
	idle     map[uint64]bool // the results of isIdle, by entry
	// zeroedInside reports that zeroed blocks have their site in the handler's function, not where it has returned.
	zeroedInside bool
	// returned are the slots of the handler's functions of which calls have been found.
	returned map[int64]bool
}

// role says what a function of an allocator does.
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

// roleOf returns the role of the called function. A function of the file itself has none, whatever its name is.
func roleOf(c machine.Call) role {
	if c.Target != 0 {
		return other
	}
	return roles[c.Import]
}

// refuse returns an error that matches [ErrUnknown], with the reason.
func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnknown, fmt.Sprintf(format, args...))
}

// addHandlerFunctions adds the sites in the four functions of the default handler.
func (f *finder) addHandlerFunctions() error {
	for _, function := range []struct {
		slot  uint64
		addTo func(*machine.Routine) error
	}{{mallocSlot, f.addAllocations}, {callocSlot, f.addZeroedAllocations}, {reallocSlot, f.addReallocations},
		{freeSlot, f.addFrees}} {
		entry, _ := f.code.Function(f.sites.Handler + function.slot)
		f.lookedAt[entry] = true
		r, err := f.routines.at(entry)
		if err != nil {
			return err
		}
		if err := function.addTo(r); err != nil {
			return err
		}
	}
	return nil
}

// amount is the number of bytes that a call asks for.
type amount struct {
	whole   machine.Value   // the number; of a product that the routine does not compute, see machine.Routine.Product
	factors []machine.Value // the two factors of a product, else none
}

// asked returns the amount that a call passes as an argument.
func asked(r *machine.Routine, c machine.Call, argument int) amount {
	return amount{whole: r.Passed(c, argument)}
}

// multiplied returns the amount that a call passes as two arguments: the number of elements, and the size of each.
func multiplied(r *machine.Routine, c machine.Call, elements, size int) amount {
	return product(r, r.Passed(c, elements), r.Passed(c, size))
}

// product returns the amount of a number of elements of a size.
func product(r *machine.Routine, elements, size machine.Value) amount {
	return amount{whole: r.Product(elements, size), factors: []machine.Value{elements, size}}
}

// amountOf returns how many bytes a call of a function that takes memory asks for.
func amountOf(r *machine.Routine, c machine.Call) amount {
	if roleOf(c) == allocatesZeroed {
		return multiplied(r, c, 0, 1)
	}
	return asked(r, c, 0)
}

// addAllocations adds the sites in the handler's function that takes memory.
func (f *finder) addAllocations(r *machine.Routine) error {
	size := amount{whole: r.Argument(1)}
	return f.eachLargeAllocation(r, size, func(c machine.Call) error { return f.addMade(r, c, size) })
}

// addZeroedAllocations adds the sites in the handler's function that takes memory full of zeros.
func (f *finder) addZeroedAllocations(r *machine.Routine) error {
	f.zeroedInside = true
	return f.eachLargeAllocation(r, product(r, r.Argument(1), r.Argument(2)), func(c machine.Call) error {
		err := f.addMade(r, c, amountOf(r, c))
		if errors.Is(err, errBehind) && roleOf(c) == allocatesZeroed {
			// before NumPy 2.0 the size is lost behind the call: callers get the sites
			f.zeroedInside, err = false, nil
		}
		return err
	})
}

// eachLargeAllocation calls see for each allocation in r that can be a large block. It fails if one requests another
// size than whole, the size that r is asked for, or if r can allocate a large block in any other way.
func (f *finder) eachLargeAllocation(r *machine.Routine, whole amount, see func(machine.Call) error) error {
	var seen []machine.Call
	for _, c := range r.Calls() {
		switch roleOf(c) {
		case allocates, allocatesZeroed:
		case other:
			if err := f.mustBeHarmless(c); err != nil {
				return err
			}
			continue
		default:
			return refuse("cannot follow an allocation by %s at %#x", c.Import, c.Address)
		}
		size := amountOf(r, c)
		if limit, ok := r.AtMost(c, size.whole); ok && limit < Large {
			continue
		}
		if size.whole == 0 || size.whole != whole.whole {
			return refuse("cannot tell how much the allocation at %#x asks for", c.Address)
		}
		if err := see(c); err != nil {
			return err
		}
		seen = append(seen, c)
	}
	return mustPass(r, seen, machine.Limits{whole.whole: Large - 1})
}

// mustPass returns an error if a way through a function avoids all of the calls. Ways on which one of the values of
// except is within its limit are allowed.
func mustPass(r *machine.Routine, calls []machine.Call, except machine.Limits) error {
	if !r.Passes(calls, except) {
		return refuse("a large block may avoid all probes on a way through the function at %#x", r.Entry())
	}
	return nil
}

// errBehind is the error where no place behind an allocation has all the needed values.
var errBehind = errors.New("cannot follow what comes behind the allocation")

// search looks for an instruction behind a call at which some values still exist. It returns the places of the values.
type search func(c machine.Call, values ...machine.Value) (machine.Site, []machine.Place, bool)

// addMade adds the site behind a call that takes memory: the one that [machine.Routine.Behind] finds, or else the first
// that one of the further searches finds.
func (f *finder) addMade(r *machine.Routine, c machine.Call, size amount, further ...search) error {
	var site machine.Site
	var places []machine.Place
	ok := false
	for _, find := range append([]search{r.Behind}, further...) {
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
	return f.addSite(&f.sites.Made, s)
}

// addSite adds a site to those of its kind. Functions of a file may share code, and so a site. It is added once, and
// must be the same in each function.
func (f *finder) addSite(to *[]Site, s Site) error {
	for _, old := range *to {
		if old.Address != s.Address {
			continue
		}
		if old.Delta = s.Delta; old != s {
			return refuse("two functions share the place at %#x, and differ in its values", s.Address)
		}
		return nil
	}
	if len(f.sites.All())+len(f.sites.Handlers) == maxSites {
		return refuse("more than %d places", maxSites)
	}
	*to = append(*to, s)
	return nil
}

// addReallocations adds the sites in the handler's function that resizes.
func (f *finder) addReallocations(r *machine.Routine) error {
	var seen []machine.Call
	for _, c := range r.Calls() {
		var err error
		switch roleOf(c) {
		case resizes:
			err = f.addResizing(r, c, r.Argument(1), r.Argument(2))
			seen = append(seen, c)
		case other:
			err = f.mustBeHarmless(c)
		default:
			err = refuse("cannot follow a realloc by %s at %#x", c.Import, c.Address)
		}
		if err != nil {
			return err
		}
	}
	return mustPass(r, seen, nil)
}

// addResizing adds the site at a call of realloc.
func (f *finder) addResizing(r *machine.Routine, c machine.Call, block, size machine.Value) error {
	site, places, ok := r.At(c, block, size)
	if !ok || r.Passed(c, 0) != block || r.Passed(c, 1) != size {
		return refuse("cannot follow the reallocation at %#x", c.Address)
	}
	return f.addSite(&f.sites.Resizing, Site{Site: site, Block: places[0], Size: places[1], HasSize: true})
}

// addResized adds the site behind a call that resizes.
func (f *finder) addResized(r *machine.Routine, c machine.Call) error {
	site, places, ok := r.Behind(c, r.Result(c))
	if !ok {
		return refuse("cannot follow what comes behind the reallocation at %#x", c.Address)
	}
	return f.addSite(&f.sites.Resized, Site{Site: site, Block: places[0]})
}

// addFrees adds the sites of the handler's function that frees: where free is called, if that is cheap, else where the
// function begins.
func (f *finder) addFrees(r *machine.Routine) error {
	block, size := r.Argument(1), r.Argument(2)
	var sites []Site
	var seen []machine.Call
	sure := true
	for _, c := range r.Calls() {
		switch roleOf(c) {
		case frees:
			seen = append(seen, c)
			site, places, ok := r.At(c, block)
			sure = sure && ok && site.Emulated && r.Passed(c, 0) == block
			if !sure {
				continue
			}
			s := Site{Site: site, Block: places[0]}
			if _, places, ok := r.At(c, size); ok {
				s.Size, s.HasSize = places[0], true
			} else {
				s.Size, s.MaybeSize = r.Before(c, size, machine.Limits{size: Large - 1, block: 0})
			}
			sites = append(sites, s)
		case other:
			if err := f.mustBeHarmless(c); err != nil {
				return err
			}
		default:
			return refuse("cannot follow a free by %s at %#x", c.Import, c.Address)
		}
	}
	if !sure {
		site, places, ok := r.First(block, size)
		if !ok {
			return refuse("no probe fits where the free at %#x begins", site.Address)
		}
		sites = []Site{{Site: site, Block: places[0], Size: places[1], HasSize: true}}
	}
	for _, s := range sites {
		if err := f.addSite(&f.sites.Freed, s); err != nil {
			return err
		}
	}
	return mustPass(r, seen, machine.Limits{size: Large - 1, block: 0})
}

// mustBeComplete returns an error unless everything that must be there has been found.
func (f *finder) mustBeComplete() error {
	s := &f.sites
	switch {
	case len(s.Made) < 2 || len(s.Freed) < 2 || len(s.Resizing) == 0 || len(s.Resized) == 0:
		return refuse("it has %d places of allocations, %d of frees, %d and %d of reallocations",
			len(s.Made), len(s.Freed), len(s.Resizing), len(s.Resized))
	case !f.returned[mallocSlot] || !f.returned[callocSlot] || !f.returned[reallocSlot]:
		return refuse("cannot tell where the handler's functions are called")
	}
	return nil
}

// maxSites bounds the sites of a file, Handlers included. No known build has so many.
const maxSites = 64
