package reporttest

import "ipytracer/model"

// nameKernels puts the names of the two kernels into all parts of a report. In each cell with allocations, a function
// that was defined before the session allocates as well.
func nameKernels(report *model.Report) {
	names := map[int]string{4242: "train.ipynb", 5555: "pid 5555"}
	report.Processes[0].Notebook = "/home/ada/work/train.ipynb"
	for i := range report.Processes {
		report.Processes[i].Kernel = names[report.Processes[i].PID]
	}
	frames := func(pid int, stack []model.Frame) {
		for i := range stack {
			if stack[i].InCell() {
				stack[i].Kernel = names[pid]
			}
		}
	}
	for i := range report.Windows {
		window := &report.Windows[i]
		window.Kernel = names[window.PID]
		if window.Kind == model.Cell && len(window.Allocations) > 0 {
			window.Allocations = append(window.Allocations,
				model.Allocation{Meter: "cpu.numpy", Allocated: 3 * MiB, Freed: 3 * MiB, Count: 1, Stack: []model.Frame{
					{Function: "make", File: "/tmp/ipykernel_4242/2398848727.py", Line: 4, ExecutionCount: Number(2)},
					{
						Function: "<module>", File: "/tmp/ipykernel_4242/77.py", Line: 1, Execution: window.Execution,
						ExecutionCount: window.ExecutionCount,
					},
				}})
		}
		for _, a := range window.Allocations {
			frames(window.PID, a.Stack)
		}
	}
	for i := range report.Between {
		b := &report.Between[i]
		b.Kernel = names[b.PID]
		b.Label += " of " + b.Kernel
	}
	for i := range report.Lines {
		stack := []model.Frame{report.Lines[i].Frame}
		frames(report.Lines[i].PID, stack)
		report.Lines[i].Frame = stack[0]
	}
}

// OnGPUs gives a fixture's session memory on two GPUs: the driver's on GPU 0, and PyTorch's on GPU 1, whose sizes need
// more than 32 bits.
func OnGPUs(report *model.Report) *model.Report {
	window := &report.Windows[0]
	window.Meters = map[string]model.Figure{
		"gpu.0.driver": Fig(0, 3*GiB, 0), "gpu.1.driver": Fig(0, 90*GiB, 0), "gpu.1.active": Fig(0, 80*GiB+512, 0),
		"cpu.numpy": Fig(0, GiB, 0),
	}
	count := 7
	stack := []model.Frame{
		{Function: "at::empty", Module: "libtorch.so", Native: true},
		{Function: "Linear.__init__", File: "/torch/nn.py", Line: 9},
		{Function: "<module>", File: "/tmp/7.py", Line: 2, Execution: 8, ExecutionCount: &count},
	}
	if report.Host.Name == Evil {
		stack[1].Function, stack[1].File = Evil, Evil
	}
	window.Allocations = []model.Allocation{
		{Meter: "gpu.1.active", Stack: stack, AtPeak: 70 * GiB, Count: 3},
		{Meter: "gpu.1.active", AtPeak: 512, Count: 1}, {Meter: "cpu.numpy", Stack: stack, AtPeak: GiB},
		{Meter: "gpu.0.driver", Stack: stack, AtPeak: 5 * GiB}, // more than the peak, as a recording could have it
	}
	window.Coverage = map[string]model.Coverage{
		"gpu.1.active": {AtPeak: 71*GiB + 512, Unlisted: 2, UnlistedAtPeak: GiB, Rest: 9 * GiB},
	}
	report.GPUNotes = []model.GPUNote{
		{Kind: model.Preallocated, Library: model.JAX, PID: 4242, GPU: 1, Bytes: 60 * GiB, Total: 80 * GiB},
		{Kind: model.Unreported, Library: model.PyTorch, PID: 4242},
	}
	return report
}
