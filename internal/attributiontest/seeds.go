package attributiontest

import (
	"iter"
	"os"
)

// Seeds returns the seeds of n random histories: a quarter of them, and all n with TRACER_EVERYTHING=1, as `make
// everything` sets it.
func Seeds(n uint64) iter.Seq[uint64] {
	if os.Getenv("TRACER_EVERYTHING") != "1" {
		n = (n + 3) / 4
	}
	return func(yield func(uint64) bool) {
		for seed := range n {
			if !yield(seed) {
				return
			}
		}
	}
}
