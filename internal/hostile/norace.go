//go:build !race

package hostile

// slowdown is 1 without the race detector.
const slowdown = 1
