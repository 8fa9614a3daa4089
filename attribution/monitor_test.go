package attribution_test

import (
	"testing"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
)

// TestMonitorForgets: ten thousand more cells, with statements and children that come and go, leave a Monitor as large
// as it was.
func TestMonitorForgets(t *testing.T) {
	monitor := attribution.NewMonitor()
	s := attributiontest.New(monitor.Add, 1)
	cell, seen := uint64(0), 0
	work := func(cells int) {
		for range cells {
			cell++
			s.OpenCell(cell, 0, "<ipython-input-1-aaaa>", "x = 1")
			for line := range int32(4) {
				s.Of(event.StatementOpen, cell, line+1, event.OutcomeOK)
				s.To(attributiontest.Kernel, event.Resident, event.Bytes(1<<20+cell%7<<12))
				s.Of(event.StatementClose, cell, line+1, event.OutcomeOK)
			}
			child := attributiontest.Kernel + 1 + int32(cell)
			s.Fork(attributiontest.Kernel, child)
			s.Exit(child)
			s.CloseCell(cell, event.OutcomeOK)
			seen += len(monitor.Finished())
		}
	}
	work(1000)
	before := reachable()
	work(4000)
	if grew := reachable() - before; grew > 64<<10 {
		t.Errorf("it grew by %d bytes", grew)
	}
	if seen < 4900 {
		t.Errorf("%d cells of 5,000", seen)
	}
	if p, ok := monitor.Process(int(attributiontest.Kernel)); !ok || p.Meters["cpu.resident"].Peak < 1<<20 {
		t.Errorf("%+v, %v", p, ok)
	}
}

// TestMonitorStatement: a process that ended in a statement has that statement, with its figures, also where more
// processes came and went than a Monitor keeps.
func TestMonitorStatement(t *testing.T) {
	monitor := attribution.NewMonitor()
	s := attributiontest.New(monitor.Add, 1)
	s.To(attributiontest.Kernel, event.Resident, 1<<20)
	s.OpenCell(1, 0, "<ipython-input-1-aaaa>", "x = 1")
	for child := range int32(100) {
		s.Fork(attributiontest.Kernel, attributiontest.Kernel+1+child)
		s.Exit(attributiontest.Kernel + 1 + child)
	}
	s.Of(event.StatementOpen, 1, 3, event.OutcomeOK)
	s.To(attributiontest.Kernel, event.Resident, 5<<20)
	if _, ok := monitor.Statement(int(attributiontest.Kernel)); ok {
		t.Error("it has not ended")
	}
	s.Exit(attributiontest.Kernel)
	monitor.Add(&event.Lull{})
	w, ok := monitor.Statement(int(attributiontest.Kernel))
	f := w.Meters["cpu.resident"]
	if !ok || w.Line != 3 || f.Start != 1<<20 || f.Peak != 5<<20 || !f.Exact {
		t.Errorf("%+v, %v", w, ok)
	}
	if _, ok := monitor.Process(int(attributiontest.Kernel)); !ok {
		t.Error("the process is not known")
	}
}
