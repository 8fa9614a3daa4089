package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"ipytracer/cmd/tracer/internal/agent"
)

func of(t *testing.T, w workload, change func(*agent.Config)) *node {
	t.Helper()
	c := agent.DefaultConfig()
	change(&c)
	if err := w.check(); err != nil {
		t.Fatal(err)
	}
	n, err := simulate(c, w)
	if err != nil {
		t.Fatal(err)
	}
	most, err := agent.MostSeries(c, w.gpus)
	if bound := most.Owners + most.Kernels + most.Own; err != nil || n.highest > bound {
		t.Errorf("%d time series, of %d at most: %v", n.highest, bound, err)
	}
	return n
}

// total returns the sum of a family's counters, or of the counts of its histograms.
func (n *node) total(t *testing.T, name string) (sum float64) {
	t.Helper()
	families, err := n.agent.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// TestHundredThousandCells: 100,000 cells of 1,000 users, in pods that live a second, leave no more time series than
// the configuration says, and each cell and end is counted.
func TestHundredThousandCells(t *testing.T) {
	w := workload{kernels: 20, users: 1000, gpus: 1, life: time.Second, cell: 40 * time.Millisecond,
		scrape: 15 * time.Second, long: 200 * time.Second}
	n := of(t, w, func(c *agent.Config) { c.Series = 2000 })
	if n.cells < 95_000 || n.started < 3_900 || n.folded == 0 {
		t.Errorf("%d cells of %d pods, %d folded", n.cells, n.started, n.folded)
	}
	if one := n.result.spans / n.cells; one < 200 || one > 4000 {
		t.Errorf("a span of %d bytes", one)
	}
	for name, want := range map[string]int{
		"ipytracer_cells_total": n.cells, "ipytracer_cell_need_bytes": n.cells,
		"ipytracer_kernel_deaths_total": n.started - len(n.pods),
	} {
		if got := n.total(t, name); got != float64(want) {
			t.Errorf("%s is %v, not %d", name, got, want)
		}
	}
}

// TestKnobs: each field of the configuration that the table names lowers what it bounds.
func TestKnobs(t *testing.T) {
	w := workload{kernels: 30, users: 1000, gpus: 2, life: 20 * time.Second, cell: 10 * time.Second,
		scrape: 10 * time.Second, long: 5 * time.Minute}
	base := of(t, w, func(*agent.Config) {})
	for name, change := range map[string]func(*agent.Config){
		"series":  func(c *agent.Config) { c.Series = 500 },
		"kernels": func(c *agent.Config) { c.Kernels = 10 },
		"keep":    func(c *agent.Config) { c.Keep = agent.Duration(time.Minute) },
	} {
		if n := of(t, w, change); n.highest*10 > base.highest*8 || n.samples >= base.samples || n.bytes >= base.bytes {
			t.Errorf("with less of %s: %d time series, %d without", name, n.highest, base.highest)
		}
	}
	slower := w
	slower.scrape *= 2
	if n := of(t, slower, func(*agent.Config) {}); n.samples*10 > base.samples*6 {
		t.Errorf("with half as many scrapes %d samples, of %d", n.samples, base.samples)
	}
	if n := of(t, w, func(c *agent.Config) { c.Kernels = 10 }); n.refused == 0 {
		t.Error("no kernel was refused")
	}
}

// TestTable: the program prints a row for each figure.
func TestTable(t *testing.T) {
	w := workload{kernels: 3, users: 10, life: time.Hour, cell: time.Minute, scrape: time.Minute, long: time.Hour}
	var out bytes.Buffer
	if err := run(&out, "", w, 10_000, sizes{2, 1200}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| | one node | 10 k nodes |", "| spans a second | 0.05 | 500 | - |",
		"| cells and ends that count as `other`, a day | 0 | 0 |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if run(&out, "/nowhere", w, 1, sizes{}) == nil {
		t.Error("a configuration that is not there")
	}
}
