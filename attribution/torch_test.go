package attribution

import (
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// tensor allocates or frees a tensor on the CPU, and moves the meter.
func (s *script) tensor(at uint64, value *event.Bytes, size event.Bytes) {
	*value += size
	s.stream++
	s.held = append(s.held, &event.Change{Stream: s.stream, Segment: s.number + 1, PID: main, Meter: event.Torch,
		Value: *value, Size: size, Address: at})
}

// TestTorchIsItsOwn checks that tensors and arrays have figures, frees of unknown blocks and pauses of their own.
func TestTorchIsItsOwn(t *testing.T) {
	s := newScript()
	var value event.Bytes
	s.openCell(1, true)
	s.tensor(0x1000, &value, 100)
	s.tensor(0x2000, &value, 50)
	s.tensor(0x1000, &value, -100)
	s.cell(event.CellClose, 1, gpu(event.Torch, 50, 150))
	s.cell(event.CellOpen, 2, gpu(event.Torch, 50, 50))
	freed := func(b *event.Boundary) { b.Unknown[event.UnknownTorch], b.Slack[event.UnknownTorch] = 2, 4096 }
	s.cell(event.CellClose, 2, freed, gpu(event.Torch, 50, 50))
	s.cell(event.CellOpen, 3, freed, gpu(event.Torch, 50, 50))
	s.boundary(event.MeterShed, main, freed, func(b *event.Boundary) { b.Group = event.TorchCPU },
		gpu(event.Torch, 50, 50))
	s.cell(event.CellClose, 3, freed, gpu(event.Torch, 50, 50))
	unsure := func(b *event.Boundary) { b.Unsure[event.UnknownTorch] = 777 }
	s.boundary(event.MeterBack, main, freed, unsure, func(b *event.Boundary) { b.Group = event.TorchCPU },
		gpu(event.Torch, 50, 50))
	s.cell(event.CellOpen, 4, freed, unsure, gpu(event.Torch, 50, 50))
	s.cell(event.CellClose, 4, freed, unsure, gpu(event.Torch, 50, 50))
	s.boundary(event.Detached, main, freed, unsure, gpu(event.Torch, 50, 50))
	r := s.run(t)
	cells := []model.Window{nth(t, r, model.Cell, 0), nth(t, r, model.Cell, 1), nth(t, r, model.Cell, 2),
		nth(t, r, model.Cell, 3)}
	if f := cells[3].Meters["cpu.torch"]; f.Exact || f.Bound == nil || *f.Bound != 777 || f.Start != 50 {
		t.Errorf("after a pause: %+v", f)
	}
	expect(t, "first", readingsOf(cells[0], "cpu.torch"), [3]int64{0, 150, 50})
	if c := cells[0].Coverage["cpu.torch"]; !c.Exact || c.AtPeak != 150 {
		t.Errorf("lines: %+v", c)
	}
	if f := cells[0].Meters["cpu.torch"]; !f.Exact {
		t.Errorf("the first cell: %+v", f)
	}
	if f := cells[1].Meters["cpu.torch"]; f.Exact || f.Bound == nil || *f.Bound != 4096 {
		t.Errorf("tensors from before went: %+v", f)
	}
	if f := cells[2].Meters["cpu.torch"]; f.Exact || f.Bound != nil {
		t.Errorf("shed: %+v", f)
	}
	for i, w := range cells {
		if f := w.Meters["cpu.numpy"]; !f.Exact {
			t.Errorf("numpy of cell %d: %+v", i, f)
		}
	}
	expect(t, "frees", r.Certificate.UnknownTorchFrees, uint64(2))
}

// TestTorchAppearsOnceUsed checks that the report of a session without tensors does not mention them.
func TestTorchAppearsOnceUsed(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.closeCell(1, event.OutcomeOK)
	s.boundary(event.Detached, main)
	if _, there := nth(t, s.run(t), model.Cell, 0).Meters["cpu.torch"]; there {
		t.Error("a session without tensors has cpu.torch")
	}
}

// TestForkedWorkersAreUnseen checks that allocations of a forked child are in no figure of arrays, so the tree's are
// lower bounds.
func TestForkedWorkersAreUnseen(t *testing.T) {
	s := newScript()
	s.openCell(1, true)
	s.born(200, 50)
	s.boundary(event.ProcessStart, 200, func(b *event.Boundary) { b.Parent = main })
	s.cell(event.CellClose, 1, gpu(event.Torch, 7, 7))
	s.boundary(event.Detached, main, gpu(event.Torch, 7, 7))
	w := nth(t, s.run(t), model.Cell, 0)
	for _, m := range []string{"cpu.numpy", "cpu.torch"} {
		if f := w.Tree[m]; f.Exact || f.Bound != nil {
			t.Errorf("the tree's %s: %+v", m, f)
		}
		if f := w.Meters[m]; !f.Exact {
			t.Errorf("its own %s: %+v", m, f)
		}
		for _, c := range w.Children {
			if f, there := c.Meters[m]; there {
				t.Errorf("a forked child has %s: %+v", m, f)
			}
		}
	}
}

// TestTensorsFillMemory checks that the memory of tensors is not listed again in the mapped memory and the heap that
// contain it.
func TestTensorsFillMemory(t *testing.T) {
	n := newNotebook()
	for range 4 {
		n.run("grows", func() {
			at := n.takeOf(event.Torch, "grows", 1, 8*mib)
			n.move(event.Change{Meter: event.Mapped, Size: 8*mib + 4096, Address: at &^ 4095, Block: true})
			n.move(event.Change{Meter: event.Heap, Size: 8*mib + 64, Address: at - 64, Block: true})
		})
	}
	if v := only(t, n.audit(t), model.RerunGrowth, 32*mib, 1, 2, 3, 4); v.Meter != "cpu.torch" {
		t.Errorf("%+v", v)
	}
}
