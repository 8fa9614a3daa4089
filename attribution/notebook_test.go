package attribution

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// notebook writes the events of cells that make and free blocks.
type notebook struct {
	*script
	cells uint64
	next  uint64
	sizes map[uint64]event.Change
	has   map[event.Meter]event.Bytes
}

func newNotebook() *notebook {
	return &notebook{script: newScript(), next: 1 << 40, sizes: map[uint64]event.Change{},
		has: map[event.Meter]event.Bytes{}}
}

func (n *notebook) move(c event.Change) {
	n.stream++
	n.has[c.Meter] += c.Size
	c.Stream, c.Segment, c.PID, c.TID, c.Time, c.Value = n.stream, n.number+1, main, main, n.time, n.has[c.Meter]
	n.held = append(n.held, &c)
}

// take makes a block of NumPy's at a line of the running cell, through a helper of the cell's own.
func (n *notebook) take(text string, line int, size event.Bytes) uint64 {
	return n.takeOf(event.NumPy, text, line, size)
}

func (n *notebook) takeOf(m event.Meter, text string, line int, size event.Bytes) uint64 {
	n.next += 1 << 32
	number := n.next
	frames := []event.Frame{{Function: "helper", File: "/home/me/lib.py", Line: 7},
		{Function: "<module>", File: text + ".py", Line: int32(line)}}
	n.events = append(n.events, &event.Stack{Number: number, PID: main, Frames: frames})
	c := event.Change{Meter: m, Size: size, Address: n.next, Stack: number, Block: windows.IsActive(m)}
	n.sizes[n.next] = c
	n.move(c)
	return n.next
}

func (n *notebook) give(addresses ...uint64) {
	for _, a := range addresses {
		c := n.sizes[a]
		delete(n.sizes, a)
		c.Size, c.Stack = -c.Size, 0
		n.move(c)
	}
}

// collect frees blocks in the garbage collector.
func (n *notebook) collect(addresses ...uint64) {
	first := len(n.held)
	n.give(addresses...)
	for _, e := range n.held[first:] {
		e.Collected = true
	}
}

// failsIn runs a cell in which all statements but the last end, and the last fails.
func (n *notebook) failsIn(statements int, text string, first func()) {
	n.ends(text, event.OutcomeError, func() {
		for line := 2; line <= statements; line++ {
			first()
			n.boundary(event.StatementClose, main,
				func(b *event.Boundary) { b.Cell, b.Outcome = n.cells, event.OutcomeOK })
			n.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = n.cells, int32(line) })
		}
	})
}

// run runs a cell; its text is also the name of its code.
func (n *notebook) run(text string, body func()) { n.ends(text, event.OutcomeOK, body) }

func (n *notebook) ends(text string, outcome event.Outcome, body func()) {
	n.cells++
	n.inputs++
	cell := n.cells
	n.boundary(event.CellOpen, main, func(b *event.Boundary) { b.Cell, b.Inputs, b.File = cell, n.inputs, text+".py" })
	n.events = append(n.events, &event.CellSource{Cell: cell, PID: main, Text: text + strings.Repeat("\n#", 9)})
	n.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = cell, 1 })
	body()
	n.boundary(event.StatementClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = cell, outcome })
	n.boundary(event.CellClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = cell, outcome })
}

// wait lets seconds go by.
func (n *notebook) wait(seconds int) { n.time += event.Nanoseconds(seconds) * 1e9 }

// hold records the holders of blocks at the end.
func (n *notebook) hold(holders ...event.Holder) {
	n.events = append(n.events, &event.Holders{PID: main, Complete: true, Objects: 1000, Holders: holders})
}

func (n *notebook) audit(t *testing.T) *model.Audit {
	t.Helper()
	n.boundary(event.Detached, main)
	return n.finish(t)
}

func (n *notebook) finish(t *testing.T) *model.Audit {
	t.Helper()
	a := NewAuditor()
	for _, e := range append(n.events, &event.Finish{Reason: "interrupted"}) {
		a.Add(e)
	}
	out := a.Audit(int64(mib))
	reporttest.Audit(t, out)
	return out
}

// only returns the one verdict of an audit.
func only(t *testing.T, a *model.Audit, kind string, size event.Bytes, cells ...int) model.Verdict {
	t.Helper()
	if len(a.Verdicts) != 1 {
		t.Fatalf("%d verdicts, want one: %+v", len(a.Verdicts), a.Verdicts)
	}
	v := a.Verdicts[0]
	if v.Kind != kind || v.Bytes != int64(size) || !slices.Equal(v.Executions, cells) {
		t.Errorf("%s of %d bytes from cells %v, want %s of %d from %v", v.Kind, v.Bytes, v.Executions, kind, size,
			cells)
	}
	if v.Evidence == "" || v.Advice == "" {
		t.Errorf("no evidence or advice: %+v", v)
	}
	return v
}

func none(t *testing.T, a *model.Audit) {
	t.Helper()
	if len(a.Verdicts) > 0 {
		t.Errorf("verdicts on a healthy notebook: %+v", a.Verdicts)
	}
}
