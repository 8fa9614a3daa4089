package reporttest

import "ipytracer/model"

// OnGPUs gives a fixture's session memory on two GPUs: PyTorch's on the second, which is larger than 32 bits, the
// driver's on the first.
func OnGPUs(r *model.Report) *model.Report {
	w := &r.Windows[0]
	w.Meters = map[string]model.Figure{
		"gpu.0.driver": Fig(0, 3*GiB, 0), "gpu.1.driver": Fig(0, 90*GiB, 0), "gpu.1.active": Fig(0, 80*GiB+512, 0),
		"cpu.numpy": Fig(0, GiB, 0),
	}
	count := 7
	stack := []model.Frame{
		{Function: "at::empty", Module: "libtorch.so", Native: true},
		{Function: "Linear.__init__", File: "/torch/nn.py", Line: 9},
		{Function: "<module>", File: "/tmp/7.py", Line: 2, Execution: 8, ExecutionCount: &count},
	}
	if r.Host.Name == Evil {
		stack[1].Function, stack[1].File = Evil, Evil
	}
	w.Allocations = []model.Allocation{
		{Meter: "gpu.1.active", Stack: stack, AtPeak: 70 * GiB, Count: 3},
		{Meter: "gpu.1.active", AtPeak: 512, Count: 1}, {Meter: "cpu.numpy", Stack: stack, AtPeak: GiB},
		{Meter: "gpu.0.driver", Stack: stack, AtPeak: 5 * GiB}, // more than the peak, as a recording could have it
	}
	w.Coverage = map[string]model.Coverage{
		"gpu.1.active": {AtPeak: 71*GiB + 512, Unlisted: 2, UnlistedAtPeak: GiB, Rest: 9 * GiB},
	}
	r.GPUNotes = []model.GPUNote{
		{Kind: model.Preallocated, Library: model.JAX, PID: 4242, GPU: 1, Bytes: 60 * GiB, Total: 80 * GiB},
		{Kind: model.Unreported, Library: model.PyTorch, PID: 4242},
	}
	return r
}
