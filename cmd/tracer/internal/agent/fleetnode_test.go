package agent

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"time"

	"ipytracer/cmd/tracer/internal/agent/engines"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

// workload is what happens on a node.
type workload struct {
	kernels, users, gpus     int
	life, cell, scrape, long time.Duration
}

func (w *workload) check() error {
	if w.kernels < 1 || w.users < 1 || w.gpus < 0 || w.gpus > event.MaxDevices {
		return fmt.Errorf("kernels and users are at least 1, and gpus at most %d", event.MaxDevices)
	}
	if w.cell < time.Millisecond || w.life < time.Second || w.scrape < time.Second || w.long < w.scrape {
		return errors.New("cell is at least 1ms, life and scrape 1s, and time one scrape")
	}
	return nil
}

// result is what was seen of a node.
type result struct {
	highest int    // time series at a time
	born    int    // time series that were new, after the first scrape
	samples int    // of all scrapes
	bytes   int64  // of all answers to scrapes
	cells   int    // that have closed
	spans   int    // bytes of their spans
	folded  int    // times that a cell or an end counted as "other"
	refused uint64 // times that a kernel had no room
}

// pod is a kernel in a pod of its own.
type pod struct {
	*attributiontest.Session
	kernel *simulatedKernel
	ends   time.Time
	next   time.Time // when its next cell runs
	cells  uint64
}

// node is a node that is simulated.
type node struct {
	workload
	result
	now     time.Time
	random  *rand.Rand
	agent   *simulation
	pods    []*pod
	started int
	seen    map[uint64]bool // hashes of the time series of this run
	seed    maphash.Seed
}

// simulate runs a node for as long as the workload says.
func simulate(c Config, w workload) (*node, error) {
	n := &node{workload: w, now: time.Unix(1e9, 0), random: rand.New(rand.NewPCG(1, 2)), seen: map[uint64]bool{},
		seed: maphash.MakeSeed()}
	n.agent = newSimulation(c, func() time.Time { return n.now }, n)
	// At the start kernels have any age.
	for i := range w.kernels {
		n.begin(time.Duration(float64(w.life) * float64(i+1) / float64(w.kernels)))
	}
	end := n.now.Add(w.long)
	for scrape := n.now; n.now.Before(end); {
		n.now = n.now.Add(time.Second)
		n.second()
		if !n.now.Before(scrape) {
			if err := n.scrapes(); err != nil {
				return n, err
			}
			scrape = scrape.Add(w.scrape)
		}
	}
	return n, nil
}

// Task implements [telemetry.Sink].
func (*node) Task(*telemetry.Task) {}

// Cell implements [telemetry.Sink].
func (n *node) Cell(c *telemetry.Cell) {
	n.cells++
	n.result.spans += engines.Size(c)
}

// Death implements [telemetry.Sink].
func (*node) Death(*telemetry.Death) {}

// begin starts a kernel of a pod that was never there.
func (n *node) begin(life time.Duration) {
	n.started++
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x", n.started, n.started)
	p := &pod{ends: n.now.Add(life), next: n.now.Add(time.Duration(n.random.Int64N(int64(n.cell))))}
	of := telemetry.Kernel{PodUID: id, Owner: telemetry.Owner{
		Namespace: "jupyter", Pod: "jupyter-" + id, Container: "notebook",
		User: fmt.Sprintf("user-%05d", n.random.IntN(n.users)),
	}}
	p.Session = attributiontest.New(func(e event.Event) {
		if start, is := e.(*event.Start); is {
			p.kernel = n.agent.Start(start, of)
		} else if p.kernel != nil {
			p.kernel.Add(e)
		}
	}, uint64(n.started))
	if p.kernel == nil {
		n.refused++
		return
	}
	p.Emit(&event.Limits{PID: attributiontest.Kernel, Limits: []event.Limit{{Kind: event.LimitCgroup, Bytes: 4 << 30}}})
	for g := range n.gpus {
		p.Block(attributiontest.Kernel, event.OfDevice(g, event.Driver), 1<<30, uint64(g+1)<<40, 0)
	}
	n.pods = append(n.pods, p)
}

// second runs the cells that are due, and ends and begins kernels.
func (n *node) second() {
	live := n.pods[:0]
	over := 0
	for _, p := range n.pods {
		for ; !n.now.Before(p.next); p.next = p.next.Add(n.cell) {
			n.runs(p)
		}
		if n.now.Before(p.ends) {
			live = append(live, p)
			continue
		}
		over++
		p.kernel.End(endings[n.random.IntN(len(endings))])
	}
	n.pods = live
	for range over {
		n.begin(n.life)
	}
}

// endings are how kernels end.
var endings = []*model.Ending{
	{}, {}, {}, {Signal: "SIGTERM"}, {Signal: "SIGKILL"}, {Signal: "SIGKILL", OutOfMemory: true},
}

// runs runs a cell of a need from 4 KiB to 4 GiB.
func (n *node) runs(p *pod) {
	p.cells++
	before := p.Value(attributiontest.Kernel, event.Resident)
	p.OpenCell(p.cells, 0, fmt.Sprintf("<ipython-input-%d-0>", p.cells), "x")
	p.To(attributiontest.Kernel, event.Resident, before+event.Bytes(4096<<n.random.IntN(21)))
	p.To(attributiontest.Kernel, event.Resident, before)
	how := event.OutcomeOK
	if n.random.IntN(10) == 0 {
		how = event.OutcomeError
	}
	p.CloseCell(p.cells, how)
	p.kernel.Lull()
}

// scrapes reads the figures as Prometheus does, and counts series, samples and bytes.
func (n *node) scrapes() error {
	families, err := n.agent.Registry().Gather()
	if err != nil {
		return err
	}
	series := 0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			series++
			if f.GetName() == "ipytracer_series_folded_total" {
				n.folded = int(m.GetCounter().GetValue())
			}
			var h maphash.Hash
			h.SetSeed(n.seed)
			_, _ = h.WriteString(f.GetName())
			for _, l := range m.GetLabel() {
				_, _ = h.WriteString(l.GetName() + "\x00" + l.GetValue() + "\x00")
			}
			if sum := h.Sum64(); !n.seen[sum] {
				n.seen[sum] = true
				if n.samples > 0 { // the first scrape finds what was there before
					n.born++
				}
			}
		}
	}
	n.highest = max(n.highest, series)
	n.samples += series
	bytes, err := scraped(n.agent.Pages())
	n.bytes += bytes
	return err
}

// scraped returns the size of an answer to Prometheus, with native histograms and compressed.
func scraped(pages http.Handler) (int64, error) {
	ask, err := http.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	ask.Header.Set("Accept",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	ask.Header.Set("Accept-Encoding", "gzip")
	answer := httptest.NewRecorder()
	pages.ServeHTTP(answer, ask)
	if answer.Code != http.StatusOK {
		return 0, fmt.Errorf("/metrics answers %d", answer.Code)
	}
	return int64(answer.Body.Len()), nil
}
