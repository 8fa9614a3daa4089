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

// callers looks at every function that reports a block to tracemalloc.
func (f *finder) callers() error {
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
		if f.own[r.Entry()] {
			continue
		}
		f.own[r.Entry()] = true
		c := &caller{Routine: r.Routine, calls: r.Calls()}
		if err := c.listen(); err != nil {
			return err
		}
		if err := f.caller(c); err != nil {
			return err
		}
	}
	return nil
}

// listen looks for the calls that report to tracemalloc. Calls in the domain of Python's raw memory do not matter: from
// 2.4 on NumPy's blocks do not belong to it any more.
func (c *caller) listen() error {
	for _, call := range c.calls {
		made := call.Import == "PyTraceMalloc_Track"
		if call.Target != 0 || !made && call.Import != "PyTraceMalloc_Untrack" {
			continue
		}
		in, known := c.Constant(c.Passed(call, 0))
		block := c.Passed(call, 1)
		switch {
		case known && in == rawDomain && !made:
		case !known || in != domain || block == 0:
			return refuse("which block the call of tracemalloc at %#x is about", call.Address)
		case made:
			c.made = append(c.made, block)
		default:
			c.gone = append(c.gone, block)
		}
	}
	if len(c.made) == 0 && len(c.gone) == 0 {
		return refuse("a function calls tracemalloc, and tells it nothing")
	}
	return nil
}

// handlerSlot returns which function of a handler a call may go to.
func handlerSlot(c machine.Call) (slot int64, ok bool) {
	return c.Slot, c.Indirect && c.Slot >= mallocSlot && c.Slot <= freeSlot
}

// caller looks at one function that reports blocks. Each block that the function reports as made must come from one of
// its calls, and that call has a site. Each block that it reports as gone must be passed to one of its calls. A block
// that it allocates and does not report is no array data.
func (f *finder) caller(c *caller) error {
	for _, call := range c.calls {
		tells := slices.Contains(c.made, c.Result(call))
		slot, handlers := handlerSlot(call)
		role := roleOf(call)
		var err error
		switch {
		case role == frees:
			site, block, ok := c.AtArgument(call, 0)
			if !ok {
				return refuse("a free at %#x, which takes no probe", call.Address)
			}
			err = f.add(&f.sites.Freed, Site{Site: site, Block: block})
			c.frees(call, c.Passed(call, 0))
		case role == resizes && tells:
			if err = f.resizing(c.Routine, call, c.Passed(call, 0), c.Passed(call, 1)); err == nil {
				err = f.resized(c.Routine, call)
			}
			c.makes(call, amount{}, c.Passed(call, 0))
		case role != other && role != resizes && tells:
			size := amountOf(c.Routine, call)
			err = f.made(c.Routine, call, size, c.AtOnce) // few blocks come this way: a dear place will do
			c.makes(call, size)
		case handlers && slot == freeSlot:
			c.frees(call, c.Passed(call, 1))
		case handlers && tells:
			err = f.behindHandler(c, call, slot)
		}
		if err != nil {
			return err
		}
	}
	if err := c.accounted(); err != nil {
		return err
	}
	return c.passes()
}

// behindHandler adds the site behind a call of a handler's function that makes or resizes a block, where one is needed.
func (f *finder) behindHandler(c *caller, call machine.Call, slot int64) error {
	f.returned[slot] = true
	switch slot {
	case reallocSlot:
		c.makes(call, amount{}, c.Passed(call, 1))
		return f.resized(c.Routine, call)
	case callocSlot:
		size := multiplied(c.Routine, call, 1, 2)
		c.makes(call, size)
		if !f.zeroedInside {
			return f.made(c.Routine, call, size)
		}
	default:
		c.makes(call, asked(c.Routine, call, 1))
	}
	return nil
}
