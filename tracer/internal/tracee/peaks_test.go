package tracee

import (
	"errors"
	"log/slog"
	"testing"

	"ipytracer/event"
)

// peakOfTest is a memory.peak that counts writes.
type peakOfTest struct {
	writes int
	fails  error
	closed bool
}

func (p *peakOfTest) Reset(uint32) error {
	p.writes++
	return p.fails
}

func (p *peakOfTest) Close() { p.closed = true }

// TestSeparate: the highest use of a container begins again behind a cell, where it is worth it and no other cell runs
// in the container. A container that is gone is left alone.
func TestSeparate(t *testing.T) {
	first, second := &peakOfTest{}, &peakOfTest{fails: errors.New("no such device")}
	c := &Containers{Log: slog.New(slog.DiscardHandler), peaks: peaks{
		files: map[uint64]peakFile{7: first, 8: second}, running: map[uint64]runningIn{},
	}}
	at := func(kind event.BoundaryKind, pid int32, cell, number uint64, edits ...func(*event.Container)) {
		b := &event.Boundary{Kind: kind, PID: pid, Cell: cell,
			Container: event.Container{Number: number, Usage: 10 << 20, Local: 300 << 20, Resets: 1}}
		for _, edit := range edits {
			edit(&b.Container)
		}
		c.Separate(b, 0)
	}
	expect := func(what string, writes int) {
		t.Helper()
		if first.writes != writes {
			t.Fatalf("%s: %d writes, want %d", what, first.writes, writes)
		}
	}
	at(event.Attached, 1, 0, 7)
	expect("attached", 1)
	at(event.CellOpen, 1, 1, 7)
	at(event.StatementClose, 1, 1, 7)
	at(event.CellResult, 1, 1, 7)
	expect("in a cell", 1)
	at(event.CellClose, 1, 1, 7)
	expect("behind a cell", 2)
	at(event.CellOpen, 1, 2, 7)
	at(event.CellOpen, 2, 3, 7)
	at(event.CellClose, 1, 2, 7)
	expect("another kernel's cell runs", 2)
	at(event.CellOpen, 1, 4, 7)
	at(event.ProcessExit, 2, 0, 7)
	at(event.CellClose, 1, 4, 7)
	expect("the other kernel has ended", 3)
	at(event.CellClose, 1, 5, 7, func(b *event.Container) { b.Local = b.Usage + leastFall - 1 })
	at(event.CellClose, 1, 6, 7, func(b *event.Container) { b.Resets = 0 })
	at(event.CellClose, 1, 7, 9)
	expect("nothing to gain, nothing known, another container", 3)
	at(event.CellClose, 3, 8, 8)
	at(event.CellClose, 3, 9, 8)
	if second.writes != 1 || !second.closed {
		t.Errorf("a container that is gone: %+v", second)
	}
	for cell := range uint64(2 * mostRunning) {
		at(event.CellOpen, 4, 100+cell, 7)
	}
	if len(c.peaks.running) > mostRunning {
		t.Errorf("%d cells are remembered", len(c.peaks.running))
	}
	c.Close()
	if at(event.CellClose, 1, 10, 7); !first.closed || first.writes != 3 {
		t.Errorf("closed: %+v", first)
	}
}
