package numpy

import (
	"slices"

	"ipytracer/internal/code/machine"
)

// caller is a function that reports blocks to tracemalloc: it calls the functions of a handler, or the allocator
// itself.
type caller struct {
	*machine.Routine
	calls []machine.Call
	// made are the blocks that it reports as made, gone those that it reports as gone.
	made, gone []machine.Value
	// making and freeing are those of its calls that make or resize, and that free; passed are the blocks that they are
	// passed.
	making, freeing []machine.Call
	passed          []machine.Value
	sizes           []machine.Value // that making calls ask for
}

func (c *caller) makes(call machine.Call, size amount, passed ...machine.Value) {
	c.making = append(c.making, call)
	c.sizes = append(c.sizes, size.whole)
	c.passed = append(c.passed, passed...)
}

func (c *caller) frees(call machine.Call, block machine.Value) {
	c.freeing = append(c.freeing, call)
	c.passed = append(c.passed, block)
}

// accounted returns an error unless the blocks that are reported to tracemalloc as made are all results that have been
// seen, and those that are reported as gone have been passed.
func (c *caller) accounted() error {
	for _, block := range c.made {
		if !slices.ContainsFunc(c.making, func(call machine.Call) bool { return c.Result(call) == block }) {
			return refuse("where a block comes from in the function at %#x, which calls tracemalloc", c.Entry())
		}
	}
	for _, block := range c.gone {
		if !slices.Contains(c.passed, block) {
			return refuse("where a block goes in the function at %#x, which calls tracemalloc", c.Entry())
		}
	}
	return nil
}

// passes returns an error where a way through the function leads past the calls that a large block must pass. The size
// is the one that the function is asked for; one that frees is passed it behind the block (npy_free_cache). A handler
// that is not there makes and frees nothing.
func (c *caller) passes() error {
	apart := machine.Limits{}
	for _, call := range c.calls {
		if call.Import == "PyCapsule_GetPointer" && call.Target == 0 {
			apart[c.Result(call)] = 0
		}
	}
	if len(c.made) == 0 {
		for _, block := range c.gone {
			if apart[block] = 0; block == c.Argument(0) {
				apart[c.Argument(1)] = Large - 1
			}
		}
		return passes(c.Routine, c.freeing, apart)
	}
	for _, size := range []machine.Value{c.Argument(0), c.Product(c.Argument(0), c.Argument(1))} {
		if slices.Contains(c.sizes, size) {
			apart[size] = Large - 1
		}
	}
	return passes(c.Routine, c.making, apart)
}
