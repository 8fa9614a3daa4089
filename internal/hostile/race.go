//go:build race

package hostile

// slowdown is how many times as long as usual a program takes with the race detector.
const slowdown = 10
