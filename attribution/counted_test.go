package attribution

import (
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// TestTreeOfCountedProcess: a process that counts arrays or tensors itself has exact figures by its own word. The peak
// of a tree in which others have some, too, has a bound: it may have the highest value of the process from another
// moment.
func TestTreeOfCountedProcess(t *testing.T) {
	treeOfCounted(t, event.CountedArrays, event.NumPy)
	treeOfCounted(t, event.CountedTensors, event.Torch)
}

func treeOfCounted(t *testing.T, group event.Group, meter event.Meter) {
	id := meter.String()
	for tree, want := range map[event.Bytes]bool{30: true, 50: false} {
		s := newScript()
		s.boundary(event.MeterShed, main, func(b *event.Boundary) { b.Group = group })
		s.openCell(1, true)
		s.born(200, 0)
		s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
		s.boundary(event.ProcessExec, 200, func(b *event.Boundary) { b.Parent, b.Command = main, "python3" })
		s.boundary(event.CellClose, main, func(b *event.Boundary) {
			b.Cell, b.Outcome = 1, event.OutcomeOK
			b.Value[meter], b.High[meter] = 10, 30
			b.Tree[meter], b.TreeHigh[meter] = 10, tree
		})
		s.boundary(event.Detached, main)
		cell := nth(t, s.run(t), model.Cell, 0)
		own := cell.Meters[id]
		expect(t, "the process's own", []any{own.Exact, own.Accuracy, own.Peak}, []any{true, "counted", int64(30)})
		together, _ := cell.Together(id)
		expect(t, "the tree's peak, exact", []any{together.Peak, together.Exact}, []any{int64(tree), want})
		if !want && (together.Bound == nil || *together.Bound != int64(tree)) {
			t.Errorf("the tree's bound: %+v", together)
		}
	}
}
