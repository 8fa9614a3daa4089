package reporttest

import "ipytracer/model"

// H100 returns a GPU as NVML names it.
func H100(index int) model.GPU {
	return model.GPU{
		Index: index, UUID: "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", PCIBusID: "00000000:0F:00.0",
		Name: "NVIDIA H100 80GB HBM3", Memory: 81559 * MiB,
	}
}

// trained returns the figures of a cell that trains: resident memory, and on GPU 0 the driver's memory, tensors and
// PyTorch's cache.
func trained(resident, driver, active, reserved model.Figure) map[string]model.Figure {
	all := All(resident, resident, Fig(0, 0, 0))
	all["gpu.0.driver"], all["gpu.0.active"], all["gpu.0.reserved"] = driver, active, reserved
	return all
}

// Training returns a session that fills its GPU: of the machine's memory it takes a fiftieth.
func Training() *model.Report {
	zero := int64(0)
	report := Empty()
	report.Host.CPUs, report.Host.Memory = 16, 125*GiB+896*MiB
	report.GPUs = []model.GPU{H100(0), H100(1)}
	for _, id := range []string{"gpu.0.driver", "gpu.0.active", "gpu.0.reserved"} {
		report.Meters = append(report.Meters, model.Meter{ID: id, Unit: "bytes", Source: "uprobes", Exact: true,
			Bound: &zero})
	}
	full := 80435 * MiB // 78.55 GiB
	load := CellWindow(10, 1, "import torch\nmodel = Net().cuda()\n")
	load.Meters = trained(Fig(68*MiB, 2632*MiB, 1200*MiB), Fig(0, 3*GiB, 3*GiB), Fig(0, 2*GiB, 2*GiB),
		Fig(0, 3*GiB, 3*GiB))
	fit := fitting(full)
	look := CellWindow(12, 3, "df = table()")
	look.Meters = trained(Fig(1300*MiB, 2*GiB, 1400*MiB), Fig(40*GiB, 40*GiB, 40*GiB), Fig(30*GiB, 30*GiB, 30*GiB),
		Fig(40*GiB, 40*GiB, 40*GiB))
	session := model.Window{
		ID: 1, Kind: model.Session, PID: 4242, Status: model.OK, DurationNS: 12_000 * MS, CPUNS: -1,
		Refused: fit.Refused,
		Meters: trained(Fig(68*MiB, 2632*MiB, 1400*MiB), Fig(0, full, 40*GiB), Fig(0, 60*GiB, 30*GiB),
			Fig(0, full, 40*GiB)),
	}
	report.Windows = []model.Window{session, load, fit, look,
		StatementWindow(20, 11, 1, trained(Fig(1200*MiB, 1200*MiB, 1200*MiB), Fig(3*GiB, 3*GiB, 3*GiB),
			Fig(2*GiB, 2*GiB, 2*GiB), Fig(3*GiB, 3*GiB, 3*GiB))),
		StatementWindow(21, 11, 2, fit.Meters)}
	report.Processes[0].Meters = session.Meters
	report.Levels = model.LevelsOf(report.Processes, report.GPUs)
	report.Variables = []model.Variable{
		{
			PID: 4242, Name: "model", Kind: "variable", Type: "Net", Bytes: MiB, Device: 2 * GiB, Exact: true,
			Stack: []model.Frame{},
		},
		{
			PID: 4242, Name: "df", Kind: "variable", Type: "DataFrame", Bytes: 100 * MiB, Exact: true,
			Stack: []model.Frame{},
		},
	}
	report.Names = []model.Names{{PID: 4242, Complete: true}}
	report.ToFree = []model.Freeing{
		{PID: 4242, Type: "del model", Predicted: MiB, Device: 2 * GiB, Exact: true, Names: []string{"model"}},
		{PID: 4242, Type: "del df", Predicted: 100 * MiB, Exact: true, Names: []string{"df"}},
	}
	return report
}

// fitting returns the cell that trains until its GPU, of which at most full bytes are taken, refuses memory.
func fitting(full int64) model.Window {
	fit := CellWindow(11, 2, "opt = torch.optim.Adam(model.parameters())\nfor x, y in batches:\n    step(x, y)\n")
	fit.Status, fit.Error = model.Error, "torch.OutOfMemoryError"
	fit.Meters = trained(Fig(1200*MiB, 1300*MiB, 1300*MiB), Fig(3*GiB, full, 40*GiB), Fig(2*GiB, 60*GiB, 30*GiB),
		Fig(3*GiB, full, 40*GiB))
	stack := []model.Frame{
		{Function: "step", File: "/home/ada/net.py", Line: 9},
		{Function: "<module>", File: "/tmp/ipykernel_4242/2.py", Line: 3, Execution: 2, ExecutionCount: Number(2)},
	}
	fit.Refused = []model.Refusal{
		{Meter: "gpu.0.driver", Asked: 20 * MiB, Held: full, Count: 1, Caller: "cudaMalloc", Stack: stack},
	}
	fit.Allocations = []model.Allocation{
		{
			Meter: "gpu.0.active", Stack: stack, Allocated: 90 * GiB, Freed: 60 * GiB, Net: 30 * GiB, AtPeak: 58 * GiB,
			Count: 4000,
		},
		{
			Meter: "gpu.0.active",
			Stack: []model.Frame{
				{
					Function: "<module>", File: "/tmp/ipykernel_4242/1.py", Line: 2, Execution: 1,
					ExecutionCount: Number(1),
				},
			},
			AtPeak: 2 * GiB,
		},
		{Meter: "cpu.mapped", Stack: stack, Allocated: GiB, Net: GiB, AtPeak: GiB, Count: 1},
	}
	fit.Coverage = map[string]model.Coverage{
		"gpu.0.active": {AtPeak: 60 * GiB, Exact: true}, "cpu.mapped": {AtPeak: GiB, Rest: 276 * MiB, Exact: true},
	}
	return fit
}

// EachFigure changes the figures of a meter in all windows and processes of a report.
func EachFigure(report *model.Report, meter string, change func(model.Figure) model.Figure) {
	each := func(all map[string]model.Figure) {
		if f, ok := all[meter]; ok {
			all[meter] = change(f)
		}
	}
	for i := range report.Windows {
		each(report.Windows[i].Meters)
		each(report.Windows[i].Tree)
	}
	for i := range report.Processes {
		each(report.Processes[i].Meters)
	}
}

// Off returns a change for [EachFigure]: figures that can be off by a number of bytes.
func Off(bound int64) func(model.Figure) model.Figure {
	return func(f model.Figure) model.Figure { return within(f, bound) }
}
