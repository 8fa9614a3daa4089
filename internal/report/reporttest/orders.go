package reporttest

import (
	"fmt"

	"ipytracer/model"
)

// Orders returns a notebook in which one line differs from run to run: the number of loaded orders. Later cells read
// them, or objects made of them.
func Orders(millions int64) *model.Report {
	r := Empty()
	r.Processes[0].Late = false
	each := millions * MiB
	top, at := 68*MiB, 68*MiB
	r.Windows = []model.Window{{ID: 1, Kind: model.Session, PID: 4242, Status: model.OK, DurationNS: 12_000 * MS}}
	for i, c := range []struct {
		source       string
		needs, keeps int64
	}{
		{"import numpy as np", 30 * MiB, 30 * MiB},
		{
			fmt.Sprintf("import pandas as pd\norders = load(%d_000_000)\nrates = load_rates()", millions), 10 * each,
			8 * each,
		},
		{"print('orders')", 0, 0},
		{"top = orders.groupby('customer').sum().nlargest(100)", 14 * each, each},
		{"top.plot()", 2 * each, 0},
		{"history = np.ones(400)", 60*MiB + 20*each, 0},
		{"per_rate = orders.merge(rates)", 20 * each, 12 * each},
		{"per_rate.describe()", 9 * each, 0},
		{"per_rate.to_csv('out.csv')", 7 * each, 0},
	} {
		w := CellWindow(10*(i+1), i+1, c.source)
		f := Fig(at, at+c.needs, at+c.keeps)
		w.Meters = All(f, f, Fig(0, 0, 0))
		if c.needs > 0 {
			w.Allocations = []model.Allocation{{
				Meter: "cpu.mapped", Allocated: c.needs, Freed: c.needs - c.keeps, Net: c.keeps, AtPeak: c.needs,
				Count: 1, Stack: []model.Frame{
					{Function: "take", File: "/usr/lib/python3/dist-packages/pandas/core/frame.py", Line: 4},
					{
						Function: "<module>", File: "/tmp/ipykernel_4242/1.py", Line: min(i+1, 2) - min(i/2, 1),
						Execution: i + 1, ExecutionCount: Number(i + 1),
					}},
			}}
		}
		top, at = max(top, f.Peak), f.End
		r.Windows = append(r.Windows, w)
	}
	r.Windows[0].Meters = All(Fig(68*MiB, top, at), Fig(68*MiB, top, at), Fig(0, 0, 0))
	return r
}
