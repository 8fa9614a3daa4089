package engines

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/prometheus/client_golang/prometheus"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
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

// sumOf returns the sum of a kind of values.
func sumOf(t *testing.T, p *profile.Profile, kind string) (all int64) {
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

// TestFiguresAddUp: after any events, with losses too, the parts of each interval's profile add up to the meter's value
// in the kernel ledger and to what was allocated, to the byte.
func TestFiguresAddUp(t *testing.T) {
	intervals := 0
	for seed := range uint64(20) {
		m := attribution.NewProfiler()
		steps := 0
		attributiontest.Anything(func(e event.Event) {
			m.Add(e)
			if steps++; steps%40 > 0 {
				return
			}
			m.Add(&event.Lull{})
			m.Finished()
			checkInterval(t, m.Flows(int(attributiontest.Kernel)))
			intervals++
		}, seed, 800)
	}
	if intervals < 300 {
		t.Errorf("%d intervals: this test shows nothing", intervals)
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
		if got := sumOf(t, p, f.Meter+".inuse_space"); got != max(0, f.Held) {
			t.Errorf("%s: %d held, want %d", f.Meter, got, f.Held)
		}
		if got := sumOf(t, p, f.Meter+".alloc_space"); got != f.Allocated {
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
	if n := len(p.Sample); n != maxSamples+1 || p.Sample[n-1].Location[0].Line[0].Function.Name != notListed {
		t.Errorf("%d samples", n)
	}
	if got, held := sumOf(t, p, "cpu.numpy.alloc_space"), sumOf(t, p, "cpu.numpy.inuse_space"); got != f.Allocated ||
		held != f.Held {
		t.Errorf("%d allocated, %d held", got, held)
	}
}

// TestInexactFiguresSaySoInAFrame: a figure that is not exact says so in the outermost frame of each of its samples.
func TestInexactFiguresSaySoInAFrame(t *testing.T) {
	bound := int64(4096)
	for _, one := range []struct {
		bound *int64
		want  string
	}{{nil, atLeast}, {&bound, "[not exact: off by at most 4.00 KiB]"}} {
		f := attribution.Flow{Meter: "cpu.numpy", Held: 100, Known: 60, Bound: one.bound,
			Stacks: []attribution.FlowStack{{Held: 60}}}
		raw, err := ofInterval(time.Unix(0, 0), time.Unix(60, 0), []attribution.Flow{f}).bytes()
		if err != nil {
			t.Fatal(err)
		}
		p := parsed(t, raw)
		for _, s := range p.Sample {
			if got := s.Location[len(s.Location)-1].Line[0].Function.Name; got != one.want {
				t.Errorf("%q, want %q", got, one.want)
			}
		}
		if sumOf(t, p, "cpu.numpy.inuse_space") != 100 || len(p.Sample) != 2 {
			t.Errorf("%v", p)
		}
	}
}

// TestNastyNamesInProfiles: names of functions and files that would break a terminal or a message are shown without
// breaking it.
func TestNastyNamesInProfiles(t *testing.T) {
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
		if clean(one.Name) != one.Name || len(one.Name) > 4*maxName || strings.ContainsAny(one.Name, "\n\x00\x1b") {
			t.Errorf("%.60q", one.Name)
		}
	}
	if got := sumOf(t, p, "cpu.numpy.inuse_space"); got != f.Held {
		t.Errorf("%d of %d", got, f.Held)
	}
}

// profiler returns a profiler with its counters.
func profiler(t *testing.T) (*Profiler, func() map[string]float64) {
	t.Helper()
	c := Profiles{Pull: true}
	if _, err := c.Check(); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	p := NewProfiler(ProfilerOptions{Profiles: c, Log: slog.New(slog.DiscardHandler),
		Counts: NewCounts(registry).Of(ProfilesEngine)})
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

// TestQueueIsBounded: intervals that nobody takes are dropped and counted, and what waits is bounded.
func TestQueueIsBounded(t *testing.T) {
	p, counted := profiler(t)
	for range maxIntervals + 10 {
		p.Interval(&telemetry.Kernel{}, time.Now(), nil, false)
	}
	if got := counted()[QueueFull]; got != 10 || len(p.queue) != maxIntervals {
		t.Errorf("%v dropped, %d wait", got, len(p.queue))
	}
}

// TestTooLarge: a profile beyond the room of an engine is dropped and counted, and the one before it is not answered.
func TestTooLarge(t *testing.T) {
	p, counted := profiler(t)
	k := &telemetry.Kernel{Slot: 3}
	p.handle(&profileRecord{kernel: k, flows: held(4096)})
	f := attribution.Flow{Meter: "cpu.numpy", Exact: true}
	for i := range maxSamples {
		name := strings.Repeat("x", maxName-10) + fmt.Sprint(i)
		f.Stacks = append(f.Stacks, attribution.FlowStack{Allocated: 1, Frames: []model.Frame{
			{Function: name, File: name}, {Function: "f" + name, File: name}, {Function: "g" + name, File: name}}})
		f.Allocated++
	}
	p.handle(&profileRecord{kernel: k, flows: []attribution.Flow{f}})
	if got := counted()[Refused]; got != 1 || p.lastProfiles[3] != nil {
		t.Errorf("%v dropped, %d bytes are left", got, len(p.lastProfiles[3]))
	}
}

// TestMistakesInTheSectionOfProfiles: profiles have to be pulled, and an interval has a length that is allowed; without
// one it is a minute.
func TestMistakesInTheSectionOfProfiles(t *testing.T) {
	for _, one := range []struct {
		config Profiles
		key    string
	}{
		{Profiles{}, "pull"}, {Profiles{Every: time.Minute}, "pull"},
		{Profiles{Pull: true, Every: time.Second}, "every"},
		{Profiles{Pull: true, Every: 2 * time.Hour}, "every"},
	} {
		if key, err := one.config.Check(); err == nil || key != one.key {
			t.Errorf("%+v: %s, %v", one.config, key, err)
		}
	}
	c := Profiles{Pull: true}
	if key, err := c.Check(); err != nil || c.Every != time.Minute {
		t.Errorf("%v: %s, %v", c.Every, key, err)
	}
}
