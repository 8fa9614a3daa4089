package model

import (
	"math"
	"testing"
)

func sized(peak int64) Figure { return Figure{Peak: peak, Exact: true, Bound: new(int64)} }

// limited returns a report of a kernel with a GPU, and a child.
func limited() *Report {
	return &Report{
		Host: Host{Memory: 100}, GPUs: []GPU{{Index: 0, Memory: 80}},
		Processes: []Process{
			{PID: 1, Meters: map[string]Figure{"cpu.resident": sized(5), "cpu.mapped": sized(9)}},
			{
				PID: 2, Parent: 1, Meters: map[string]Figure{"cpu.mapped": sized(40)},
				SoftLimit: &SoftLimit{Bytes: 50, By: "session"},
			},
		},
		Windows: []Window{{
			Kind: Session, PID: 1,
			Meters: map[string]Figure{
				"cpu.resident": sized(5), "cpu.mapped": sized(9), "gpu.0.driver": sized(30), "gpu.1.driver": sized(7),
			},
			Tree: map[string]Figure{"cpu.resident": sized(20), "cpu.mapped": sized(60)},
		}},
	}
}

// TestNearest: the meter nearest to its limit is first. A limit on the tree is compared with the tree, one on a process
// with the process.
func TestNearest(t *testing.T) {
	want := []struct {
		meter       string
		pid         int
		peak, bytes int64
	}{{"cpu.mapped", 2, 40, 50}, {"gpu.0.driver", 1, 30, 80}, {"cpu.resident", 1, 20, 100}, {"gpu.1.driver", 1, 7, 0}}
	r := limited()
	got := r.Nearest()
	if len(got) != len(want) {
		t.Fatalf("%d limits: %+v", len(got), got)
	}
	for i, w := range want {
		if n := got[i]; n.Meter != w.meter || n.PID != w.pid || n.Peak != w.peak || n.Bytes != w.bytes {
			t.Errorf("%d: %+v, want %+v", i, n, w)
		}
	}
	if meter := r.Ranking(got); meter != "cpu.mapped" {
		t.Errorf("%s ranks where four fifths of what may be mapped were", meter)
	}
	r.Processes[1].SoftLimit = nil
	if meter := r.Ranking(r.Nearest()); meter != "gpu.0.driver" {
		t.Errorf("%s ranks where a GPU was used", meter)
	}
	r.Processes[0].Limits = []Limit{{Kind: "machine", Bytes: 100}, {Kind: "cgroup", Path: "/a", Bytes: 39}}
	if near := r.Nearest(); near[0].Meter != "cpu.resident" || near[0].Kind != "cgroup" ||
		r.Ranking(near) != "cpu.resident" {
		t.Errorf("the nearest of two limits: %+v", near[0])
	}
}

// TestHardlyUsed: a GPU that has only a context does not count as used, unless it was nearly full.
func TestHardlyUsed(t *testing.T) {
	r := limited()
	r.Processes = r.Processes[:1]
	figures := r.Windows[0].Meters
	figures["gpu.0.driver"], r.Windows[0].Tree["cpu.resident"] = sized(1), sized(200)
	figures["gpu.1.driver"] = sized(1)
	if near := r.Nearest(); len(near) != 1 || r.Ranking(near) != "cpu.resident" {
		t.Errorf("got %+v", near)
	}
	r.GPUs[0].Memory = 1
	if near := r.Nearest(); len(near) != 2 {
		t.Errorf("a full GPU is left out: %+v", near)
	}
}

// TestRefusedIsALimit: a refused request shows the amount of available memory, even if the size is not known or other
// processes have a part of it.
func TestRefusedIsALimit(t *testing.T) {
	r := limited()
	w := &r.Windows[0]
	w.Refused = []Refusal{
		{Meter: "gpu.1.driver", Held: 6, Asked: 1}, {Meter: "cpu.mapped", Held: 9, Asked: 1},
		{Meter: "gpu.7.driver", Held: 9, Asked: 1}, {Meter: "gpu.0.driver", Held: 30, Asked: 500},
	}
	near := r.Nearest()
	if n := near[0]; n.Meter != "gpu.1.driver" || n.Peak != 6 || n.Refused != 1 || n.Bytes != 0 ||
		math.Abs(n.Share()-6./7) > 1e-9 {
		t.Errorf("got %+v", n)
	}
	for _, n := range near[1:] {
		if n.Refused != 0 {
			t.Errorf("%+v: nobody was short of it", n)
		}
	}
	w.Refused = []Refusal{
		{Meter: "gpu.0.driver", Held: math.MaxInt64, Asked: math.MaxInt64}, {Meter: "gpu.0.driver", Held: -5, Asked: 1},
		{Meter: "gpu.0.driver", Held: 5, Asked: -1}, {},
	}
	for _, n := range r.Nearest() { // a recording can contain any values
		if share := n.Share(); math.IsNaN(share) || share < 0 {
			t.Errorf("%+v: a share of %v", n, share)
		}
	}
}

// TestNearestOfNothing: without figures, limits or processes there is no ranking meter.
func TestNearestOfNothing(t *testing.T) {
	r := &Report{}
	if near := r.Nearest(); len(near) != 0 || r.Ranking(near) != "" {
		t.Errorf("got %+v", near)
	}
	r.Meters = []Meter{{ID: "cpu.resident"}}
	if meter := r.Ranking(nil); meter != "cpu.resident" {
		t.Errorf("%q ranks", meter)
	}
}

// TestFigureOffByMoreThanItself: a figure can be off by more than its own size, whatever its sign.
func TestFigureOffByMoreThanItself(t *testing.T) {
	bound := int64(5)
	if Vague(5, &bound) || Vague(-5, &bound) || Vague(9, nil) || !Vague(4, &bound) || !Vague(-4, &bound) ||
		!Vague(0, &bound) {
		t.Error("vague is what can be off by more than there is")
	}
}
