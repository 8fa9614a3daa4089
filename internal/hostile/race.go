//go:build race

package hostile

const slowdown = 10
