package attributiontest

import (
	"iter"
	"os"
)

// Seeds returns the seeds of random histories: a quarter of n, or all n if TRACER_EVERYTHING is 1, as in `make
// everything`.
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

// Many returns how many of something a test uses: enough, or all if TRACER_EVERYTHING is 1.
func Many(enough, all int) int {
	if os.Getenv("TRACER_EVERYTHING") == "1" {
		return all
	}
	return enough
}
