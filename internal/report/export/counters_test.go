package export_test

import (
	"cmp"
	"slices"
	"testing"

	"ipytracer/attribution"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/report/export"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// counters returns the points of the counters of a trace, in its order.
func counters(t *testing.T, r *model.Report) map[string][]model.Point {
	t.Helper()
	tracks, events := decoded(t, printed(t, export.Perfetto, r))
	nested(t, tracks, events)
	all := map[string][]model.Point{}
	for _, e := range events {
		if e.kind != 4 {
			continue
		}
		if tracks[e.track].unit != 3 {
			t.Errorf("counter %q is not in bytes", tracks[e.track].name)
		}
		name := tracks[e.track].name
		if r.Processes[0].PID != int(tracks[e.track].pid) {
			name += " of a child"
		}
		all[name] = append(all[name], model.Point{NS: e.at, Bytes: e.bytes})
	}
	return all
}

// TestCounters: every point of the timeline is a value of its counter, to the byte and the nanosecond; a process that
// has ended has nothing.
func TestCounters(t *testing.T) {
	r := reporttest.Script()
	of := func(pid int, meter string, tree bool, points ...model.Point) {
		r.Timeline = append(r.Timeline, model.Track{PID: pid, Meter: meter, Tree: tree, Points: points})
	}
	v, f, m := model.PointValue, model.PointFell, model.PointMost
	of(4242, "cpu.resident", false, model.Point{NS: 5, Bytes: 4096, Kind: v},
		model.Point{NS: 9, Bytes: 1 << 62, Kind: f})
	of(4242, "cpu.resident", false, model.Point{NS: 9, Bytes: 0, Kind: m}, model.Point{NS: 1e12, Bytes: 1, Kind: v})
	of(4242, "cpu.resident", true, model.Point{NS: 5, Bytes: 12345, Kind: v})
	of(4300, "cpu.resident", false, model.Point{NS: 7, Bytes: 8192, Kind: v})
	r.Timeline[1].Gaps = []model.Gap{{StartNS: 9, EndNS: 20, Reason: reporttest.Evil}}
	got := counters(t, r)
	want := map[string][]model.Point{
		"cpu.resident":            {{NS: 5, Bytes: 4096}, {NS: 9, Bytes: 1 << 62}, {NS: 9}, {NS: 1e12, Bytes: 1}},
		"tree.cpu.resident":       {{NS: 5, Bytes: 12345}},
		"cpu.resident of a child": {{NS: 7, Bytes: 8192}, {NS: 90 * reporttest.MS}},
	}
	for name, points := range want {
		if !slices.Equal(got[name], points) {
			t.Errorf("%s: %v, not %v", name, got[name], points)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
}

// TestTreesOfProcesses: while a process is alone its own points are its tree's, including its value at the beginning of
// that time.
func TestTreesOfProcesses(t *testing.T) {
	r := reporttest.Script()
	v, g := model.PointValue, model.PointGap
	alone := func(from, to int64) model.Gap { return model.Gap{StartNS: from, EndNS: to, Reason: model.GapAlone} }
	r.Timeline = []model.Track{
		{
			PID: 4242, Meter: "cpu.numpy",
			Points: []model.Point{{NS: 0, Bytes: 1, Kind: v}, {NS: 10, Bytes: 2, Kind: v}, {NS: 20, Bytes: 3, Kind: v}},
		},
		{
			PID: 4242, Meter: "cpu.numpy",
			Points: []model.Point{
				{NS: 30, Bytes: 4, Kind: v}, {NS: 45, Bytes: 5, Kind: v}, {NS: 60, Bytes: 6, Kind: v},
			},
		},
		{
			PID: 4242, Meter: "cpu.numpy", Tree: true,
			Points: []model.Point{{NS: 0, Kind: g}, {NS: 20, Bytes: 103, Kind: v}}, Gaps: []model.Gap{alone(0, 20)},
		},
		{
			PID: 4242, Meter: "cpu.numpy", Tree: true,
			Points: []model.Point{{NS: 30, Bytes: 104, Kind: v}, {NS: 40, Bytes: 104, Kind: g}},
			Gaps:   []model.Gap{alone(40, 60), {StartNS: 25, EndNS: 30, Reason: "no room"}},
		},
	}
	all := counters(t, r)
	got := all["tree.cpu.numpy"]
	slices.SortStableFunc(got, func(a, b model.Point) int { return cmp.Compare(a.NS, b.NS) })
	want := []model.Point{
		{NS: 0, Bytes: 1}, {NS: 10, Bytes: 2}, {NS: 20, Bytes: 3}, {NS: 20, Bytes: 103}, {NS: 30, Bytes: 104},
		{NS: 40, Bytes: 4}, {NS: 45, Bytes: 5}, {NS: 60, Bytes: 6},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	if len(all["cpu.numpy"]) != 6 {
		t.Errorf("%v", all["cpu.numpy"])
	}
}

// TestCountersOfASession: the highest value of a counter in a cell is the cell's peak.
func TestCountersOfASession(t *testing.T) {
	tracker := attribution.New()
	attributiontest.Notebook(tracker.Add, 40, 3)
	r := tracker.Report()
	if len(r.Timeline) == 0 {
		t.Fatal("the session has no timeline")
	}
	looked, all := 0, counters(t, r)
	for i := range r.Windows {
		w := &r.Windows[i]
		if w.PID != r.Processes[0].PID || len(reporttest.TimelineErrors(r)) > 0 {
			continue
		}
		for id, f := range w.Meters {
			points, highest := all[id], int64(0)
			for j, p := range points {
				if p.NS > w.StartNS+w.DurationNS {
					break
				}
				if p.NS >= w.StartNS || j+1 == len(points) || points[j+1].NS > w.StartNS {
					highest = max(highest, p.Bytes)
				}
			}
			if looked++; highest != f.Peak && f.Exact {
				t.Errorf("%s of window %d has a peak of %d, its counter %d", id, w.ID, f.Peak, highest)
			}
		}
	}
	if looked == 0 {
		t.Error("no window was compared")
	}
}
