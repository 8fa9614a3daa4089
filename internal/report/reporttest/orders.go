package reporttest

import (
	"fmt"

	"ipytracer/model"
)

// Orders returns a session of a notebook that loads some millions of orders. Later cells read the orders, or objects
// made of them. Two of these sessions differ in one line.
func Orders(millions int64) *model.Report {
	report := Empty()
	report.Processes[0].Late = false
	each := millions * MiB
	top, at := 68*MiB, 68*MiB
	report.Windows = []model.Window{{ID: 1, Kind: model.Session, PID: 4242, Status: model.OK, DurationNS: 12_000 * MS}}
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
		window := CellWindow(10*(i+1), i+1, c.source)
		figure := Fig(at, at+c.needs, at+c.keeps)
		window.Meters = All(figure, figure, Fig(0, 0, 0))
		if c.needs > 0 {
			window.Allocations = []model.Allocation{{
				Meter: "cpu.mapped", Allocated: c.needs, Freed: c.needs - c.keeps, Net: c.keeps, AtPeak: c.needs,
				Count: 1, Stack: []model.Frame{
					{Function: "take", File: "/usr/lib/python3/dist-packages/pandas/core/frame.py", Line: 4},
					{
						Function: "<module>", File: "/tmp/ipykernel_4242/1.py", Line: min(i+1, 2) - min(i/2, 1),
						Execution: i + 1, ExecutionCount: Number(i + 1),
					}},
			}}
		}
		top, at = max(top, figure.Peak), figure.End
		report.Windows = append(report.Windows, window)
	}
	report.Windows[0].Meters = All(Fig(68*MiB, top, at), Fig(68*MiB, top, at), Fig(0, 0, 0))
	return report
}

// Savings returns a session in which two cells are nearly the highest. An array lives at both moments, but the second
// cell does not list it.
func Savings() *model.Report {
	report := Empty()
	at := func(meter string, execution, line int, allocated, net, atPeak int64) model.Allocation {
		return model.Allocation{
			Meter: meter, Allocated: allocated * MiB, Freed: (allocated - net) * MiB, Net: net * MiB,
			AtPeak: atPeak * MiB, Count: 1, Stack: []model.Frame{
				{
					Function: "<module>", File: "/tmp/ipykernel_4242/1.py", Line: line, Execution: execution,
					ExecutionCount: Number(execution),
				}},
		}
	}
	add := func(execution int, source string, start, peak, end int64, made ...model.Allocation) {
		window := CellWindow(10*execution, execution, source)
		numpy := Fig(start*MiB, peak*MiB, end*MiB)
		window.Meters = All(Fig((68+start)*MiB, (68+peak)*MiB, (68+end)*MiB),
			Fig((90+start)*MiB, (90+peak)*MiB, (90+end)*MiB), numpy)
		window.Allocations, window.Coverage = made, map[string]model.Coverage{}
		for _, a := range made {
			window.Coverage[a.Meter] = model.Coverage{AtPeak: peak * MiB, Exact: true}
		}
		line := StatementWindow(10*execution+1, window.ID, 1, window.Meters)
		line.Allocations, line.Coverage = window.Allocations, window.Coverage
		report.Windows = append(report.Windows, window, line)
	}
	report.Windows = []model.Window{
		{
			ID: 1, Kind: model.Session, PID: 4242, Status: model.OK, DurationNS: 12_000 * MS,
			Meters: All(Fig(68*MiB, 818*MiB, 418*MiB), Fig(90*MiB, 840*MiB, 440*MiB), Fig(0, 750*MiB, 350*MiB)),
		},
	}
	add(1, "big = np.ones(26_214_400)\n", 0, 200, 200, at("cpu.numpy", 1, 1, 200, 200, 200))
	add(2, "table = load('orders.csv')\n", 200, 350, 350, at("cpu.numpy", 2, 1, 150, 150, 150),
		at("cpu.numpy", 1, 1, 0, 0, 200))
	add(3, "y = (big * 2).sum()\n", 350, 750, 350, at("cpu.numpy", 3, 1, 400, 0, 400), at("cpu.numpy", 2, 1, 0, 0, 150),
		at("cpu.numpy", 1, 1, 0, 0, 200))
	add(4, "z = group(table)\n", 350, 743, 350, at("cpu.mapped", 4, 1, 393, 0, 393))
	for _, w := range report.Windows[len(report.Windows)-2:] { // the last cell and its line make no array
		w.Meters["cpu.numpy"] = Fig(350*MiB, 350*MiB, 350*MiB)
	}
	return report
}
