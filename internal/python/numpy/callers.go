package numpy

import (
	"slices"

	"ipytracer/internal/code/machine"
)

// domain is the number under which NumPy reports its blocks to tracemalloc (NPY_TRACE_DOMAIN, numpy/ndarraytypes.h).
// rawDomain is tracemalloc's number for Python's raw memory (Include/pymem.h).
const (
	domain    = 389047
	rawDomain = 0
)

// addCallers adds the sites in every function that reports a block to tracemalloc.
func (f *finder) addCallers() error {
	var all []reference
	for _, name := range []string{"PyTraceMalloc_Track", "PyTraceMalloc_Untrack"} {
		references, err := f.routines.references(name)
		if err != nil {
			return err
		}
		all = append(all, references...)
	}
	if len(all) == 0 {
		return refuse("it does not call PyTraceMalloc_Track")
	}
	for _, r := range all {
		if f.lookedAt[r.Entry()] {
			continue
		}
		f.lookedAt[r.Entry()] = true
		c := &caller{Routine: r.Routine, calls: r.Calls()}
		if err := c.findReported(); err != nil {
			return err
		}
		if err := f.addCaller(c); err != nil {
			return err
		}
	}
	return nil
}

// findReported finds the blocks that the function reports to tracemalloc. Frees in the domain of Python's raw memory do
// not matter: from 2.4 on they say that NumPy's blocks do not belong to that domain.
func (c *caller) findReported() error {
	for _, call := range c.calls {
		made := call.Import == "PyTraceMalloc_Track"
		if call.Target != 0 || !made && call.Import != "PyTraceMalloc_Untrack" {
			continue
		}
		reported, known := c.Constant(c.Passed(call, 0))
		block := c.Passed(call, 1)
		switch {
		case known && reported == rawDomain && !made:
		case !known || reported != domain || block == 0:
			return refuse("cannot tell which block the call of tracemalloc at %#x is about", call.Address)
		case made:
			c.made = append(c.made, block)
		default:
			c.gone = append(c.gone, block)
		}
	}
	if len(c.made) == 0 && len(c.gone) == 0 {
		return refuse("the function at %#x calls tracemalloc, but reports no block", c.Entry())
	}
	return nil
}

// handlerSlot returns the slot of a handler's function that a call may go to; ok is false for other calls.
func handlerSlot(c machine.Call) (slot int64, ok bool) {
	return c.Slot, c.Indirect && c.Slot >= mallocSlot && c.Slot <= freeSlot
}

// addCaller adds the sites in one function that reports blocks. Each block that the function reports as made must come
// from one of its calls, and that call gets a site. Each block that it reports as gone must be passed to one of its
// calls. A block that it allocates but does not report is no array data.
func (f *finder) addCaller(c *caller) error {
	for _, call := range c.calls {
		isReported := slices.Contains(c.made, c.Result(call))
		slot, isHandlers := handlerSlot(call)
		role := roleOf(call)
		var err error
		switch {
		case role == frees:
			site, block, ok := c.AtArgument(call, 0)
			if !ok {
				return refuse("no probe fits at the free at %#x", call.Address)
			}
			err = f.addSite(&f.sites.Freed, Site{Site: site, Block: block})
			c.noteFreeing(call, c.Passed(call, 0))
		case role == resizes && isReported:
			if err = f.addResizing(c.Routine, call, c.Passed(call, 0), c.Passed(call, 1)); err == nil {
				err = f.addResized(c.Routine, call)
			}
			c.noteMaking(call, amount{}, c.Passed(call, 0))
		case role != other && role != resizes && isReported:
			size := amountOf(c.Routine, call)
			err = f.addMade(c.Routine, call, size, c.AtOnce) // an expensive place will do: few blocks come this way
			c.noteMaking(call, size)
		case isHandlers && slot == freeSlot:
			c.noteFreeing(call, c.Passed(call, 1))
		case isHandlers && isReported:
			err = f.addBehindHandler(c, call, slot)
		}
		if err != nil {
			return err
		}
	}
	if err := c.mustAccount(); err != nil {
		return err
	}
	return c.mustPassCalls()
}

// addBehindHandler adds the site behind a call of a handler's function that makes or resizes a block, if the function
// itself has none.
func (f *finder) addBehindHandler(c *caller, call machine.Call, slot int64) error {
	f.returned[slot] = true
	switch slot {
	case reallocSlot:
		c.noteMaking(call, amount{}, c.Passed(call, 1))
		return f.addResized(c.Routine, call)
	case callocSlot:
		size := multiplied(c.Routine, call, 1, 2)
		c.noteMaking(call, size)
		if !f.zeroedInside {
			return f.addMade(c.Routine, call, size)
		}
	default:
		c.noteMaking(call, asked(c.Routine, call, 1))
	}
	return nil
}
