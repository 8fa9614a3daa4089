package attributiontest

import (
	"iter"
	"os"
)

// Seeds returns the seeds of n random histories: a quarter of them, and all n with TRACER_EVERYTHING=1, as `make
// everything` sets it.
func Seeds(n uint64) iter.Seq[uint64] {
	n = uint64(Many(int(n+3)/4, int(n)))
	return func(yield func(uint64) bool) {
		for seed := range n {
			if !yield(seed) {
				return
			}
		}
	}
}

// Many returns how much a test makes of something: enough to show what it checks, and with TRACER_EVERYTHING=1 all.
func Many(enough, all int) int {
	if os.Getenv("TRACER_EVERYTHING") == "1" {
		return all
	}
	return enough
}
