package agent

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// The agents of a cluster cost the engines that collect their figures time series, samples, bytes, spans and profiles.
// These flags of the test's program describe a cluster; docs/agent-fleet.md explains the figures.
var (
	nodes       = flag.Int("nodes", 0, "print what an agent on each of so many nodes costs")
	fleetConfig = flag.String("config", "", "the agents' configuration `FILE`; the defaults without one")
	fleet       workload
	fleetSizes  sizes
)

func init() {
	flag.IntVar(&fleet.kernels, "kernels", 20, "kernels of a node at a time")
	flag.IntVar(&fleet.users, "users", 1000, "users of the cluster; each pod is one of them")
	flag.DurationVar(&fleet.life, "life", 8*time.Hour, "how long a kernel and its pod live")
	flag.DurationVar(&fleet.cell, "cell", 2*time.Minute, "the time between two cells of a kernel")
	flag.IntVar(&fleet.gpus, "gpus", 0, "GPUs that each kernel uses")
	flag.DurationVar(&fleet.scrape, "scrape", 30*time.Second, "Prometheus' scrape_interval")
	flag.DurationVar(&fleet.long, "time", 4*time.Hour, "how long is simulated")
	flag.Float64Var(&fleetSizes.sample, "sample-bytes", 2, "bytes of a stored sample")
	flag.Float64Var(&fleetSizes.profile, "profile-bytes", 1200, "bytes of a kernel's profile of a minute")
}

// sizes are those of records that this program does not make, in bytes: see docs/agent-fleet.md for where each was
// measured.
type sizes struct {
	sample  float64 // a sample as Prometheus stores it
	profile float64 // a profile of a kernel and minute
}

// printFleet runs the registry of one agent on kernels that are made up, for long of their time, and multiplies that by
// the number of nodes.
func printFleet(out io.Writer, file string, w workload, nodes int, s sizes) error {
	c := DefaultConfig()
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		if c, err = ReadConfig(f, file); err != nil {
			return err
		}
	}
	if err := w.check(); err != nil {
		return err
	}
	r, err := simulate(c, w)
	if err != nil {
		return err
	}
	most, err := mostSeries(c, w.gpus)
	if err != nil {
		return err
	}
	printTable(out, r.rows(c, w, most, s), nodes)
	return nil
}

// row is a figure of one node.
type row struct {
	what     string
	unit     string
	oneNode  float64
	atMost   float64 // by the knobs; 0: nothing of the agent's bounds it
	boundsBy string
}

const day = 24 * time.Hour

func (r result) rows(c Config, w workload, most seriesBounds, s sizes) []row {
	bound := float64(most.Owners + most.Kernels + most.Own)
	scrapes := day.Seconds() / w.scrape.Seconds()
	perDay := day.Seconds() / w.long.Seconds()
	cells, busy := float64(r.cells)*perDay, float64(w.kernels)*min(1, float64(time.Minute)/float64(w.cell))
	profiles := busy * day.Minutes()
	return []row{
		{"time series at a time", "", float64(r.highest), bound, "series, kernels, keep"},
		{"new time series a day", "", float64(r.born) * perDay, 0, "users, keep; a pod's life"},
		{"samples a second", "", float64(r.samples) / w.long.Seconds(), bound / w.scrape.Seconds(), "scrape_interval"},
		{"answers to scrapes a day", "B", float64(r.bytes) * perDay, 0, "scrape_interval, series"},
		{"stored samples a day", "B", float64(r.samples) * perDay * s.sample, bound * scrapes * s.sample,
			"scrape_interval"},
		{"spans a second", "", cells / day.Seconds(), 0, "the cells"},
		{"spans a day", "B", float64(r.spans) * perDay, 0, "the cells"},
		{"profiles a day", "B", profiles * s.profile, float64(c.Kernels) * day.Minutes() * s.profile, "kernels"},
		{"cells and ends that count as `other`, a day", "", float64(r.folded) * perDay, 0, "series, keep"},
	}
}

func printTable(out io.Writer, rows []row, nodes int) {
	fmt.Fprintf(out, "| | one node | %s nodes | at most, of one node | bound by |\n|---|---|---|---|---|\n",
		short(float64(nodes), ""))
	for _, r := range rows {
		most := "-"
		if r.atMost > 0 {
			most = short(r.atMost, r.unit)
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", r.what, short(r.oneNode, r.unit),
			short(r.oneNode*float64(nodes), r.unit), most, r.boundsBy)
	}
}

// short returns a number with three digits and a decimal prefix.
func short(v float64, unit string) string {
	for _, p := range []struct {
		from   float64
		prefix string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= p.from {
			return strings.TrimSpace(fmt.Sprintf("%.3g %s%s", v/p.from, p.prefix, unit))
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%.3g %s", v, unit))
}

// simulated runs a node, and checks that it shows no more time series than it may.
func simulated(t *testing.T, w workload, change func(*Config)) *node {
	t.Helper()
	c := DefaultConfig()
	change(&c)
	if err := w.check(); err != nil {
		t.Fatal(err)
	}
	n, err := simulate(c, w)
	if err != nil {
		t.Fatal(err)
	}
	most, err := mostSeries(c, w.gpus)
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
	n := simulated(t, w, func(c *Config) { c.Series = 2000 })
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

// TestBoundsOfSeries: each field of the configuration that the table names lowers what it bounds.
func TestBoundsOfSeries(t *testing.T) {
	w := workload{kernels: 30, users: 1000, gpus: 2, life: 20 * time.Second, cell: 10 * time.Second,
		scrape: 10 * time.Second, long: 5 * time.Minute}
	base := simulated(t, w, func(*Config) {})
	for name, change := range map[string]func(*Config){
		"series":  func(c *Config) { c.Series = 500 },
		"kernels": func(c *Config) { c.Kernels = 10 },
		"keep":    func(c *Config) { c.Keep = Duration(time.Minute) },
	} {
		n := simulated(t, w, change)
		if n.highest*10 > base.highest*8 || n.samples >= base.samples || n.bytes >= base.bytes {
			t.Errorf("with less of %s: %d time series, %d without", name, n.highest, base.highest)
		}
	}
	slower := w
	slower.scrape *= 2
	if n := simulated(t, slower, func(*Config) {}); n.samples*10 > base.samples*6 {
		t.Errorf("with half as many scrapes %d samples, of %d", n.samples, base.samples)
	}
	if n := simulated(t, w, func(c *Config) { c.Kernels = 10 }); n.refused == 0 {
		t.Error("no kernel was refused")
	}
}

// TestFleetTable: the table has a row for each figure. With -nodes it prints that of a cluster instead.
func TestFleetTable(t *testing.T) {
	if *nodes > 0 {
		if err := printFleet(os.Stdout, *fleetConfig, fleet, *nodes, fleetSizes); err != nil {
			t.Fatal(err)
		}
		return
	}
	w := workload{kernels: 3, users: 10, life: time.Hour, cell: time.Minute, scrape: time.Minute, long: time.Hour}
	var out bytes.Buffer
	if err := printFleet(&out, "", w, 10_000, sizes{2, 1200}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| | one node | 10 k nodes |", "| spans a second | 0.05 | 500 | - |",
		"| cells and ends that count as `other`, a day | 0 | 0 |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if printFleet(&out, "/nowhere", w, 1, sizes{}) == nil {
		t.Error("a configuration that is not there")
	}
}
