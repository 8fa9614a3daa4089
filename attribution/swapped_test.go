package attribution

import (
	"math"
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// TestSwapped: a window has what was in swap at its beginning and end, and says what went there. A window that ends
// with its process has nothing, for then it is not known.
func TestSwapped(t *testing.T) {
	const mib = 1 << 20
	s := newScript()
	at := func(bytes event.Bytes) func(*event.Boundary) {
		return func(b *event.Boundary) { b.Swapped, b.Inputs = bytes, -1 }
	}
	cell := func(number uint64, first, last event.Bytes) {
		of := func(bytes event.Bytes) func(*event.Boundary) {
			return func(b *event.Boundary) {
				at(bytes)(b)
				b.Cell, b.Outcome = number, event.OutcomeOK
			}
		}
		s.boundary(event.CellOpen, main, of(first))
		s.boundary(event.CellClose, main, of(last))
	}
	cell(1, 0, 0)
	cell(2, 0, 300*mib)
	cell(3, 300*mib, 100*mib)
	cell(4, math.MinInt64, math.MaxInt64)
	s.boundary(event.CellOpen, main, func(b *event.Boundary) {
		at(100 * mib)(b)
		b.Cell = 5
	})
	s.boundary(event.ProcessExit, main, at(0))
	r := s.run(t)
	for i, want := range []*model.Swapped{
		nil, {End: 300 * mib}, {Start: 300 * mib, End: 100 * mib}, {End: math.MaxInt64 / 4}, nil,
	} {
		expect(t, "a cell", nth(t, r, model.Cell, i).Swapped, want)
	}
	expect(t, "what went", nth(t, r, model.Cell, 1).Note, "300.00 MiB swapped out")
	expect(t, "what came back", nth(t, r, model.Cell, 2).Note, "200.00 MiB swapped in, 100.00 MiB still out")
}

// TestSwappedOfManyCells: cells that ended long ago keep their figures.
func TestSwappedOfManyCells(t *testing.T) {
	const cells = 300
	s := newScript()
	for cell := range uint64(cells) {
		edit := func(b *event.Boundary) {
			b.Cell, b.Inputs, b.Outcome = cell+1, -1, event.OutcomeOK
			b.Swapped = event.Bytes(4096 * (cell + uint64(b.Kind)))
		}
		s.boundary(event.CellOpen, main, edit)
		s.boundary(event.CellClose, main, edit)
	}
	s.boundary(event.Detached, main)
	r := s.run(t)
	for cell := range cells {
		want := &model.Swapped{Start: 4096 * (int64(cell) + int64(event.CellOpen)),
			End: 4096 * (int64(cell) + int64(event.CellClose))}
		expect(t, "a cell", nth(t, r, model.Cell, cell).Swapped, want)
	}
}
