// Package tensors finds changes of PyTorch code that need less memory, on the CPU (meter cpu.torch, a part of
// cpu.resident) and on GPUs: graphs that are kept, and evaluation with gradients on.
//
// A rule needs both: the pattern in the source, and blocks of PyTorch at a high moment that calls on these lines made.
// Such a block is known by its stack only. So a rule that counts the rounds of a loop takes the number of blocks of the
// line that made the fewest.
package tensors

import "ipytracer/internal/advice/evidence"

// Rules returns the rules of this package.
func Rules() []evidence.Rule {
	return []evidence.Rule{gradients, kept}
}
