package numpy

import (
	"slices"

	"ipytracer/tracer/machine"
)

// domain is how NumPy names its blocks to tracemalloc, which numbers Python's raw memory 0: numpy/ndarraytypes.h, NPY_TRACE_DOMAIN;
// Include/pymem.h.
const (
	domain    = 389047
	rawDomain = 0
)

// caller is a function that tells tracemalloc of blocks: it calls the functions of a handler, or the allocator itself.
type caller struct {
	*machine.Routine
	calls []machine.Call
	// made are the blocks that it tells of, gone those that it says are gone.
	made, gone []machine.Value
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
		c := &caller{Routine: r, calls: r.Calls()}
		if err := c.listen(); err != nil {
			return err
		}
		if err := f.caller(c); err != nil {
			return err
		}
	}
	return nil
}

// listen looks for what it tells tracemalloc. Of Python's raw memory, which NumPy's blocks are no more from 2.4 on, nothing is of interest.
func (c *caller) listen() error {
	for _, call := range c.calls {
		made := call.Import == "PyTraceMalloc_Track"
		if !made && call.Import != "PyTraceMalloc_Untrack" {
			continue
		}
		in, known := c.Constant(c.Passed(call, 0))
		block := c.Passed(call, 1)
		switch {
		case known && in == rawDomain && !made:
		case !known || in != domain || block == 0:
			return refuse("what tracemalloc is told at %#x", call.Address)
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

// handlerSlot returns which function of a handler a call may be to.
func handlerSlot(c machine.Call) (slot int64, ok bool) {
	return c.Slot, c.Indirect && c.Slot >= mallocSlot && c.Slot <= freeSlot
}

// caller looks at one of them. Each block that it tells of must come from one of its calls, with a site; each that is gone must be passed to
// one. What it takes and does not tell of is no array data.
func (f *finder) caller(c *caller) error {
	var seen []machine.Value // results
	var passed []machine.Value
	for _, call := range c.calls {
		result := c.Result(call)
		tells := slices.Contains(c.made, result)
		slot, handlers := handlerSlot(call)
		var err error
		switch {
		case roles[call.Import] == frees:
			site, block := c.AtArgument(call, 0)
			f.sites.Freed = append(f.sites.Freed, Site{Site: site, Block: block})
			passed = append(passed, c.Passed(call, 0))
		case roles[call.Import] == resizes && tells:
			if err = f.resizing(c.Routine, call, c.Passed(call, 0), c.Passed(call, 1)); err == nil {
				err = f.resized(c.Routine, call)
			}
			passed = append(passed, c.Passed(call, 0))
		case roles[call.Import] != other && roles[call.Import] != resizes && tells:
			err = f.made(c.Routine, call, amountOf(c.Routine, call), c.AtOnce) // few blocks come this way: a dear place will do
		case handlers && slot == freeSlot:
			passed = append(passed, c.Passed(call, 1))
			continue
		case handlers && tells:
			err = f.behindHandler(c, call, slot)
			passed = append(passed, c.Passed(call, 1))
		default:
			continue
		}
		if err != nil {
			return err
		}
		seen = append(seen, result)
	}
	return c.accounted(seen, passed)
}

// behindHandler adds the site behind a call of a handler's function, where one is needed.
func (f *finder) behindHandler(c *caller, call machine.Call, slot int64) error {
	f.returned[slot] = true
	switch {
	case slot == reallocSlot:
		return f.resized(c.Routine, call)
	case slot == callocSlot && !f.zeroedInside:
		return f.made(c.Routine, call, multiplied(c.Routine, call, 1, 2))
	}
	return nil
}

// accounted says whether the blocks that tracemalloc is told of are all results that have been seen, and those that are gone have been passed.
func (c *caller) accounted(results, passed []machine.Value) error {
	for _, block := range c.made {
		if !slices.Contains(results, block) {
			return refuse("where a block comes from in the function at %#x, which calls tracemalloc", c.Entry())
		}
	}
	for _, block := range c.gone {
		if !slices.Contains(passed, block) {
			return refuse("where a block goes in the function at %#x, which calls tracemalloc", c.Entry())
		}
	}
	return nil
}
