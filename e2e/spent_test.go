package e2e

import (
	"fmt"
	"testing"
)

// storm returns code that makes arrays without pause for a number of seconds of CPU time.
func storm(seconds float64) string {
	return fmt.Sprintf("import numpy as np, time\nend = time.process_time() + %g\n"+
		"while time.process_time() < end: np.ones(2000)", seconds)
}

// TestBudgetIsSpent: a storm of small arrays that exceeds the saved budget is stepped down, and the report says so.
func TestBudgetIsSpent(t *testing.T) {
	require(t)
	pid, r := tracedCell(t, storm(3), "--budget", "0.5%")
	cells := topCells(r, pid)
	if len(cells) != 1 {
		t.Fatalf("%d cells", len(cells))
	}
	if f := cells[0].Meters["cpu.numpy"]; f.Exact || f.Bound != nil {
		t.Errorf("numpy in a storm: %+v", f)
	}
	if c := cells[0].Coverage["cpu.numpy"]; c.Exact {
		t.Errorf("the lines of a storm: %+v", c)
	}
	for _, meter := range []string{"cpu.resident", "cpu.mapped"} {
		if f := cells[0].Meters[meter]; !f.Exact {
			t.Errorf("%s was shed: %+v", meter, f)
		}
	}
	for _, p := range r.Certificate.Meters {
		if p.Paused != (p.ID == "cpu.numpy") {
			t.Errorf("%s shed: %v", p.ID, p.Paused)
		}
	}
	// 0.5 % of the time saves up 83 ms: at half a microsecond or more a hit, fewer than 170,000 hits, and those until
	// the probes are removed, which takes a busy machine some time. The whole storm would be 2 million.
	for _, p := range r.Certificate.Probes {
		if p.Name == "numpy" && p.Hits > 800_000 {
			t.Errorf("the storm was let go on for %d hits", p.Hits)
		}
	}
}

// TestBudgetForABurst: the default budget allows a burst like that of a figure with many subplots, right after the
// attach: numpy is exact, and so are its lines.
func TestBudgetForABurst(t *testing.T) {
	require(t)
	pid, r := tracedCell(t, "import numpy as np\nkeep = np.ones(1 << 20)\nfor i in range(20_000): np.ones(2000)")
	cells := topCells(r, pid)
	if len(cells) != 1 {
		t.Fatalf("%d cells", len(cells))
	}
	// The import itself makes a few arrays.
	if f := cells[0].Meters["cpu.numpy"]; !f.Exact || f.Peaked != 16000 && f.Peaked != 16008 ||
		f.Consumed-8<<20 > 64<<10 || f.Consumed < 8<<20 {
		t.Errorf("numpy: %+v", f)
	}
}
