package ledger

import (
	"testing"

	"ipytracer/event"
)

// TestPageSize: the kernel counts pages, and the size of one is set before loading. With pages of 65,536 bytes, the
// same process has sixteen times as much.
func TestPageSize(t *testing.T) {
	pid := sleeper(t)
	valuesOf := func(o Options) event.Readings {
		l := load(t, o)
		if _, err := l.Processes.AttachProcess(0, pid, 0); err != nil {
			t.Fatal(err)
		}
		var c collected
		poll(t, l, &c)
		consecutive(t, c.boundaries, 1)
		return c.boundaries[0].Value
	}
	usual, large := valuesOf(Options{pageSize: 4096}), valuesOf(Options{pageSize: 65536})
	for _, m := range []event.Meter{event.Mapped, event.ResidentAnon, event.ResidentFile} {
		if usual[m] == 0 || large[m] != 16*usual[m] {
			t.Errorf("%v: %d bytes with pages of 4,096, %d with pages of 65,536", m, usual[m], large[m])
		}
	}
}
