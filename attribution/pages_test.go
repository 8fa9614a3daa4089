package attribution

import (
	"testing"

	"ipytracer/attribution/internal/rows"
	"ipytracer/event"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// TestPageSize: a block that malloc maps by itself has whole pages, and begins behind a header in the first of them. A
// recording without a page size has pages of 4,096 bytes.
func TestPageSize(t *testing.T) {
	const size = 8*mib - 4096 // whole pages of 4,096 bytes, with the header
	for _, c := range []struct {
		page  event.Bytes
		start uint64 // of the mapping
		whole event.Bytes
	}{
		{0, 1<<40 + 1<<12, 8*mib - 4096}, {4096, 1<<40 + 1<<12, 8*mib - 4096}, {12345, 1<<40 + 1<<12, 8*mib - 4096},
		{65536, 1<<40 + 1<<12, 0}, // such a mapping is not one block's
		{65536, 1 << 40, 8 * mib},
	} {
		n := newNotebook()
		n.events[0].(*event.Start).Host.PageSize = c.page
		n.run("cell", func() {
			n.events = append(n.events, &event.Stack{Number: 7, PID: main,
				Frames: []event.Frame{{Function: "<module>", File: "cell.py", Line: 1}}})
			n.move(event.Change{Meter: event.Mapped, Size: 8 * mib, Address: c.start, Stack: 7, Block: true})
		})
		e := saying(event.HeldByVariable, "a")
		e.Views = []event.View{{Address: c.start + rows.MallocHeader, Size: size - rows.MallocHeader, Used: 4 << 10,
			Type: "numpy.ndarray", Viewers: []event.Viewer{{Paths: []string{"a"}}}}}
		a := n.so().AuditOne(int(main), []*event.Holders{e}, int64(mib))
		reporttest.Audit(t, a)
		var judged event.Bytes
		for _, v := range a.Verdicts {
			if v.Kind == model.HeldByView {
				judged += event.Bytes(v.Bytes)
			}
		}
		if judged != c.whole {
			t.Errorf("pages of %d bytes, at %#x: a verdict of %d bytes, want %d", c.page, c.start, judged, c.whole)
		}
		n.events = append(n.events, &event.Variables{PID: main, Complete: true, Variables: []event.Variable{{Name: "a",
			Kind: event.HeldByVariable, Bytes: size, Size: size, Block: c.start + rows.MallocHeader}}})
		n.boundary(event.Detached, main)
		names := n.script.run(t).Variables
		if len(names) != 1 || (len(names[0].Stack) > 0) != (c.whole > 0) {
			t.Errorf("pages of %d bytes, at %#x: %+v", c.page, c.start, names)
		}
	}
}
