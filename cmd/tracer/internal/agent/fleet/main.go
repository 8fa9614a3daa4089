// Fleet computes what the agents of a cluster cost the engines that collect their figures: time series, samples, bytes,
// spans and profiles. It runs the registry of one agent on kernels that are made up, for long of their time, and
// multiplies that by the number of nodes. docs/agent-fleet.md explains the figures.
//
//	go run ./cmd/tracer/internal/agent/fleet -nodes 10000 -kernels 20
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"ipytracer/cmd/tracer/internal/agent"
)

// Sizes of records in bytes that this program does not make: see docs/agent-fleet.md for where each was measured.
type sizes struct {
	sample  float64 // a sample as Prometheus stores it
	profile float64 // a profile of a kernel and minute, as it is pushed
}

func main() {
	w := workload{}
	var s sizes
	nodes := flag.Int("nodes", 10_000, "nodes, with an agent each")
	config := flag.String("config", "", "the agents' configuration `FILE`; the defaults without one")
	flag.IntVar(&w.kernels, "kernels", 20, "kernels of a node at a time")
	flag.IntVar(&w.users, "users", 1000, "users of the cluster; each pod is one of them")
	flag.DurationVar(&w.life, "life", 8*time.Hour, "how long a kernel and its pod live")
	flag.DurationVar(&w.cell, "cell", 2*time.Minute, "the time between two cells of a kernel")
	flag.IntVar(&w.gpus, "gpus", 0, "GPUs that each kernel uses")
	flag.DurationVar(&w.scrape, "scrape", 30*time.Second, "Prometheus' scrape_interval")
	flag.DurationVar(&w.long, "time", 4*time.Hour, "how long is simulated")
	flag.Float64Var(&s.sample, "sample-bytes", 2, "bytes of a stored sample")
	flag.Float64Var(&s.profile, "profile-bytes", 1200, "bytes of a kernel's profile of a minute")
	flag.Parse()
	if err := run(os.Stdout, *config, w, *nodes, s); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, file string, w workload, nodes int, s sizes) error {
	c := agent.DefaultConfig()
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		if c, err = agent.ReadConfig(f, file); err != nil {
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
	most, err := agent.MostSeries(c, w.gpus)
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

func (r result) rows(c agent.Config, w workload, most agent.Most, s sizes) []row {
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
