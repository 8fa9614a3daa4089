package compare_test

import (
	"testing"

	"ipytracer/internal/compare"
	"ipytracer/model"
)

const mib = int64(1) << 20

// one is a cell of a made-up session: its source, and the resident memory that it needs and keeps, in MiB.
type one struct {
	source       string
	needs, keeps int64
	lines        []model.Allocation
	change       func(*model.Window)
}

func exact(start, peak, end int64) model.Figure {
	zero := int64(0)
	return model.Figure{Start: start, Peak: peak, End: end, Consumed: end - start, Peaked: peak - max(start, end),
		Exact: true, Bound: &zero}
}

// session returns a report of some cells, one after another, from 100 MiB on.
func session(cells ...one) *model.Report {
	zero := int64(0)
	r := &model.Report{Schema: model.Schema, Host: model.Host{Name: "box", Kernel: "6.18", CPUs: 2, Memory: 16 << 30,
		Tracer: "1", Started: "2026-03-02T09:14:05Z"},
		Processes: []model.Process{{PID: 7, Command: "python3 -m ipykernel", Python: "3.11.2", IPython: "8.5.0",
			Meters: map[string]model.Figure{}}},
		Meters: []model.Meter{{ID: "cpu.resident", Unit: "bytes", Exact: true, Bound: &zero},
			{ID: "cpu.numpy", Unit: "bytes", Exact: true, Bound: &zero}},
		Certificate: model.Certificate{Complete: true, Attribution: model.Attribution{Complete: true},
			Finished: "interrupted"}}
	at, top := 100*mib, 100*mib
	r.Windows = []model.Window{{ID: 1, Kind: model.Session, PID: 7, Status: model.OK}}
	for i, c := range cells {
		count := i + 1
		f := exact(at, at+c.needs*mib, at+c.keeps*mib)
		top, at = max(top, f.Peak), f.End
		w := model.Window{ID: i + 2, Parent: 1, Kind: model.Cell, PID: 7, Execution: count, ExecutionCount: &count,
			Source: c.source, Status: model.OK,
			StartNS: int64(i) * 1e9, DurationNS: 5e8, CPUNS: 4e8,
			Meters: map[string]model.Figure{"cpu.resident": f}, Allocations: c.lines}
		if c.change != nil {
			c.change(&w)
		}
		r.Windows = append(r.Windows, w)
	}
	r.Windows[0].Meters = map[string]model.Figure{"cpu.resident": exact(100*mib, top, at)}
	r.Windows[0].DurationNS = int64(len(cells)) * 1e9
	return r
}

// made returns an allocation of a line of a cell, in MiB.
func made(execution, line int, function string, bytes int64) model.Allocation {
	count := execution
	return model.Allocation{Meter: "cpu.numpy", Allocated: bytes * mib, Net: bytes * mib, AtPeak: bytes * mib, Count: 1,
		Stack: []model.Frame{
			{Function: "ones", File: "/usr/lib/python3/dist-packages/numpy/core/numeric.py", Line: 191},
			{Function: function, File: "/tmp/ipykernel_1/1.py", Line: line, Execution: execution,
				ExecutionCount: &count}}}
}

// diff compares two sessions, with changes from 1 MiB on.
func diff(t *testing.T, a, b *model.Report, limits string, meters ...string) *model.Diff {
	t.Helper()
	o := compare.Options{Least: mib, Meters: meters}
	if limits != "" {
		var err error
		if o.Limits, err = compare.ParseLimits(limits); err != nil {
			t.Fatal(err)
		}
	}
	d, err := compare.Runs(compare.Read("a.arrows", a), compare.Read("b.arrows", b), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
