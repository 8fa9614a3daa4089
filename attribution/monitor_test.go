package attribution_test

import (
	"testing"

	"ipytracer/attribution"
	"ipytracer/attribution/attributiontest"
	"ipytracer/event"
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
	work(2000)
	before := reachable()
	work(10_000)
	if grew := reachable() - before; grew > 64<<10 {
		t.Errorf("it grew by %d bytes", grew)
	}
	if seen < 11_900 {
		t.Errorf("%d cells of 12,000", seen)
	}
	if p, ok := monitor.Process(int(attributiontest.Kernel)); !ok || p.Meters["cpu.resident"].Peak < 1<<20 {
		t.Errorf("%+v, %v", p, ok)
	}
}
