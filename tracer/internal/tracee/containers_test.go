package tracee

import (
	"testing"

	"ipytracer/event"
)

// TestPartsThatFit: parts of another moment than the boundary's are left out.
func TestPartsThatFit(t *testing.T) {
	const mib = 1 << 20
	parts := event.ContainerParts{Known: true, Anon: 100 * mib, File: 50 * mib, Shmem: 30 * mib, Kernel: 20 * mib}
	for usage, want := range map[event.Bytes]bool{
		200 * mib: true, 209 * mib: true, 192 * mib: true, 220 * mib: false, 180 * mib: false, 0: false,
	} {
		b := &event.Boundary{Container: event.Container{Number: 1, Usage: usage}}
		if got := fits(&parts, b); got != want {
			t.Errorf("200 MiB at a use of %d MiB: %v", usage/mib, got)
		}
		if unread := (event.ContainerParts{}); fits(&unread, b) {
			t.Errorf("parts that were not read at a use of %d MiB", usage/mib)
		}
	}
}
