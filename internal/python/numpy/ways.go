package numpy

import (
	"slices"

	"ipytracer/internal/code/machine"
)

// caller is a function that reports blocks to tracemalloc. It calls the functions of a handler, or calls the
// allocator itself.
type caller struct {
	*machine.Routine
	calls []machine.Call
	// made are the blocks that the function reports as made, and gone the blocks that it reports as gone.
	made, gone []machine.Value
	// making are the function's calls that make or resize a block, and freeing the calls that free one. passed are the
	// blocks that are passed to these calls.
	making, freeing []machine.Call
	passed          []machine.Value
	sizes           []machine.Value // that the making calls ask for
}

// noteMaking notes a call that makes or resizes a block.
func (c *caller) noteMaking(call machine.Call, size amount, passed ...machine.Value) {
	c.making = append(c.making, call)
	c.sizes = append(c.sizes, size.whole)
	c.passed = append(c.passed, passed...)
}

// noteFreeing notes a call that frees a block.
func (c *caller) noteFreeing(call machine.Call, block machine.Value) {
	c.freeing = append(c.freeing, call)
	c.passed = append(c.passed, block)
}

// mustAccount returns an error unless each block that is reported as made is the result of a noted call, and each block
// that is reported as gone was passed to a noted call.
func (c *caller) mustAccount() error {
	for _, block := range c.made {
		if !slices.ContainsFunc(c.making, func(call machine.Call) bool { return c.Result(call) == block }) {
			return refuse("cannot tell where a block comes from in the function at %#x, which reports it", c.Entry())
		}
	}
	for _, block := range c.gone {
		if !slices.Contains(c.passed, block) {
			return refuse("cannot tell where a block goes in the function at %#x, which reports it", c.Entry())
		}
	}
	return nil
}

// mustPassCalls returns an error if a way through the function avoids the calls through which a large block must go.
// Ways for small blocks are allowed: the size is the one that the function is asked for. A function that frees takes
// the size as the argument behind the block (npy_free_cache). Ways without a handler are allowed, too.
func (c *caller) mustPassCalls() error {
	except := machine.Limits{}
	for _, call := range c.calls {
		if call.Import == "PyCapsule_GetPointer" && call.Target == 0 {
			except[c.Result(call)] = 0 // no handler
		}
	}
	if len(c.made) == 0 {
		for _, block := range c.gone {
			except[block] = 0 // no block
			if block == c.Argument(0) {
				except[c.Argument(1)] = Large - 1
			}
		}
		return mustPass(c.Routine, c.freeing, except)
	}
	for _, size := range []machine.Value{c.Argument(0), c.Product(c.Argument(0), c.Argument(1))} {
		if slices.Contains(c.sizes, size) {
			except[size] = Large - 1
		}
	}
	return mustPass(c.Routine, c.making, except)
}
