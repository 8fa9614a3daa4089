package profiles

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/prometheus/client_golang/prometheus"

	"ipytracer/attribution"
	"ipytracer/attribution/attributiontest"
	"ipytracer/cmd/tracer/internal/agent/exports"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/model/words"
)

// parsed reads a profile.
func parsed(t *testing.T, raw []byte) *profile.Profile {
	t.Helper()
	p, err := profile.Parse(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sum returns the sum of a kind of values.
func sum(t *testing.T, p *profile.Profile, kind string) (all int64) {
	t.Helper()
	i := slices.IndexFunc(p.SampleType, func(v *profile.ValueType) bool { return v.Type == kind })
	if i < 0 {
		return 0
	}
	for _, s := range p.Sample {
		if s.Value[i] < 0 || len(s.Location) == 0 {
			t.Errorf("a sample of %s: %v, %d calls", kind, s.Value, len(s.Location))
		}
		all += s.Value[i]
	}
	return all
}

// TestFiguresAddUp: after any events, with losses too, the parts of each cell's profile add up to the peak of the
// kernel ledger, and those of each interval to the meter's value and to what was allocated, to the byte.
func TestFiguresAddUp(t *testing.T) {
	cells, intervals := 0, 0
	for seed := range uint64(20) {
		m := attribution.NewProfiler()
		steps := 0
		attributiontest.Anything(func(e event.Event) {
			m.Add(e)
			if steps++; steps%40 > 0 {
				return
			}
			m.Add(&event.Lull{})
			for _, w := range m.Finished() {
				checkCell(t, &w)
				cells++
			}
			checkInterval(t, m.Flows(int(attributiontest.Kernel)))
			intervals++
		}, seed, 800)
	}
	if cells < 300 || intervals < 300 {
		t.Errorf("%d cells, %d intervals: this test shows nothing", cells, intervals)
	}
}

func checkCell(t *testing.T, w *model.Window) {
	t.Helper()
	id := telemetry.NewSpanID()
	raw, err := ofCell(&telemetry.Cell{Kernel: &telemetry.Kernel{}, Window: w, SpanID: id}).bytes()
	if err != nil {
		t.Fatal(err)
	}
	if raw == nil {
		return
	}
	p := parsed(t, raw)
	for meter, f := range w.Meters {
		if !words.HasBlocks(meter) {
			continue
		}
		var allocated int64
		for _, a := range w.Allocations {
			if a.Meter == meter {
				allocated += a.Allocated
			}
		}
		allocated += w.Coverage[meter].UnlistedAllocated
		if got := sum(t, p, meter+".cell_peak_space"); got != f.Peak {
			t.Errorf("%s: peak %d, want %d", meter, got, f.Peak)
		}
		if got := sum(t, p, meter+".cell_alloc_space"); got != allocated && f.Peak > 0 {
			t.Errorf("%s: %d allocated, want %d", meter, got, allocated)
		}
	}
	for _, s := range p.Sample {
		if got := s.Label["span_id"]; len(s.Label) != 1 || len(got) != 1 || got[0] != hex.EncodeToString(id[:]) {
			t.Errorf("labels %v", s.Label)
		}
	}
}

func checkInterval(t *testing.T, flows []attribution.Flow) {
	t.Helper()
	raw, err := ofInterval(time.Unix(0, 0), time.Unix(60, 0), flows).bytes()
	if err != nil {
		t.Fatal(err)
	}
	if raw == nil {
		return
	}
	p := parsed(t, raw)
	for _, f := range flows {
		if got := sum(t, p, f.Meter+".inuse_space"); got != max(0, f.Held) {
			t.Errorf("%s: %d held, want %d", f.Meter, got, f.Held)
		}
		if got := sum(t, p, f.Meter+".alloc_space"); got != f.Allocated {
			t.Errorf("%s: %d allocated, want %d", f.Meter, got, f.Allocated)
		}
	}
	for _, s := range p.Sample {
		if len(s.Label) > 0 {
			t.Errorf("labels %v", s.Label)
		}
	}
}

// TestManyStacks: a flow of more stacks than a profile takes keeps its sums, and the lightest have one name.
func TestManyStacks(t *testing.T) {
	f := attribution.Flow{Meter: "cpu.numpy", Exact: true}
	for i := range 100_000 {
		f.Stacks = append(f.Stacks, attribution.FlowStack{Frames: []model.Frame{{Function: fmt.Sprint("f", i)}},
			Allocated: 7, Held: 3})
		f.Allocated, f.Held, f.Known = f.Allocated+7, f.Held+3, f.Known+3
	}
	raw, err := ofInterval(time.Unix(0, 0), time.Unix(60, 0), []attribution.Flow{f}).bytes()
	if err != nil {
		t.Fatal(err)
	}
	p := parsed(t, raw)
	if n := len(p.Sample); n != maxSamples+1 || p.Sample[n-1].Location[0].Line[0].Function.Name != unlisted {
		t.Errorf("%d samples", n)
	}
	if got, held := sum(t, p, "cpu.numpy.alloc_space"), sum(t, p, "cpu.numpy.inuse_space"); got != f.Allocated ||
		held != f.Held {
		t.Errorf("%d allocated, %d held", got, held)
	}
}

// TestInexact: a figure that is not exact says so in the outermost frame of each of its samples.
func TestInexact(t *testing.T) {
	bound := int64(4096)
	for _, one := range []struct {
		bound *int64
		want  string
	}{{nil, atLeast}, {&bound, "[not exact: off by at most 4.00 KiB]"}} {
		w := &model.Window{Meters: map[string]model.Figure{"cpu.numpy": {Peak: 100, Bound: one.bound}},
			Allocations: []model.Allocation{{Meter: "cpu.numpy", AtPeak: 60}}}
		raw, err := ofCell(&telemetry.Cell{Kernel: &telemetry.Kernel{}, Window: w}).bytes()
		if err != nil {
			t.Fatal(err)
		}
		p := parsed(t, raw)
		for _, s := range p.Sample {
			if got := s.Location[len(s.Location)-1].Line[0].Function.Name; got != one.want {
				t.Errorf("%q, want %q", got, one.want)
			}
		}
		if sum(t, p, "cpu.numpy.cell_peak_space") != 100 || len(p.Sample) != 2 {
			t.Errorf("%v", p)
		}
	}
}

// TestNastyNames: names of functions and files that would break a terminal or a message are shown without breaking it.
func TestNastyNames(t *testing.T) {
	f := attribution.Flow{Meter: "cpu.numpy", Exact: true}
	names := []string{"", "a\nb", "\xff\xfe", "\x1b[2J", "\u202e", strings.Repeat("é", 100_000), "a\x00b", "<lambda>",
		"日本", "a\"b\\", "%s%n", "{{.}}", "\u2028", "$(id)"}
	for i, name := range names {
		f.Stacks = append(f.Stacks, attribution.FlowStack{Held: 1,
			Frames: []model.Frame{{Function: name, File: name, Line: -i}}})
		f.Held, f.Known = f.Held+1, f.Known+1
	}
	raw, err := ofInterval(time.Unix(0, 0), time.Unix(60, 0), []attribution.Flow{f}).bytes()
	if err != nil {
		t.Fatal(err)
	}
	p := parsed(t, raw)
	for _, one := range p.Function {
		if clean(one.Name) != one.Name || len(one.Name) > 4*maxText || strings.ContainsAny(one.Name, "\n\x00\x1b") {
			t.Errorf("%.60q", one.Name)
		}
	}
	if got := sum(t, p, "cpu.numpy.inuse_space"); got != f.Held {
		t.Errorf("%d of %d", got, f.Held)
	}
}

// profiler returns a profiler with its counters.
func profiler(t *testing.T, c Config, headers string) (*Profiler, func() map[string]float64) {
	t.Helper()
	if _, err := c.Check(); err != nil {
		t.Fatal(err)
	}
	counts, registry := exports.NewCounts(), prometheus.NewPedanticRegistry()
	registry.MustRegister(counts)
	p, err := New(Options{Config: c, Version: "test", Log: slog.New(slog.DiscardHandler), Counts: counts.Of(Engine),
		Open: opens(headers), Users: func() bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	return p, func() map[string]float64 {
		all := map[string]float64{}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				name := "sent"
				for _, l := range m.GetLabel() {
					if l.GetName() == "reason" {
						name = l.GetValue()
					}
				}
				all[name] = m.GetCounter().GetValue()
			}
		}
		return all
	}
}

// TestQueueIsBounded: cells and intervals that nobody takes are dropped and counted, and what waits is bounded.
func TestQueueIsBounded(t *testing.T) {
	p, counted := profiler(t, Config{URL: "http://127.0.0.1:1"}, "")
	k := &telemetry.Kernel{}
	for range 3 * maxCells {
		p.Cell(&telemetry.Cell{Kernel: k, Window: &model.Window{}})
	}
	if got := counted()[exports.QueueFull]; got != 2*maxCells || len(p.cells[keyOf(k)].all) != maxCells {
		t.Errorf("%v dropped", got)
	}
	for range maxQueue + 10 {
		p.Interval(k, time.Now(), nil, false)
	}
	if got := counted()[exports.QueueFull]; got != 2*maxCells+10 || len(p.cells) > 0 {
		t.Errorf("%v dropped, %d kernels with cells", got, len(p.cells))
	}
	p.Cell(&telemetry.Cell{Kernel: k, Window: &model.Window{Allocations: make([]model.Allocation, maxCellSamples+1)}})
	if got := counted()[exports.QueueFull]; got != 2*maxCells+11 {
		t.Errorf("%v dropped", got)
	}
}
