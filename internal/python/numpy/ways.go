package numpy

import (
	"slices"

	"ipytracer/internal/code/machine"
)

// caller is a function that reports blocks to tracemalloc. It calls the functions of a handler, or calls the allocator
// itself.
type caller struct {
	*machine.Routine
	calls []machine.Call
	// made are the blocks that the function reports as made, and gone the blocks that it reports as gone.
	made, gone []machine.Value
	// making are the function's calls that make or resize a block, and freeing the calls that free one. passed are the
	// blocks that all these calls are passed.
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

// accounted returns an error unless all blocks add up: a block that is reported to tracemalloc as made must be a result
// that was seen, and a block that is reported as gone must have been passed to a call.
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

// passes returns an error where a way through the function avoids the calls through which a large block must go. The
// size is the one that the function is asked for. A function that frees takes the size as the argument behind the block
// (npy_free_cache). A handler that is not there makes and frees nothing.
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
