// Package merge puts recordings of several machines on one timeline. Each recording is read once, and only a summary of
// bounded size is kept of it. It is pure: no I/O, no clock.
//
// Every machine has a clock of its own (CLOCK_MONOTONIC, which begins at its boot). Recordings of the same boot have
// the same clock. The distance of two clocks is bounded by messages: a message is received after it was sent, whatever
// the clocks show. Markers name messages, see [Tags].
package merge
