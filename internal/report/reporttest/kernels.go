package reporttest

import "ipytracer/model"

// nameKernels names the two kernels in all their parts. A function from before the session allocates in each.
func nameKernels(r *model.Report) {
	names := map[int]string{4242: "train.ipynb", 5555: "pid 5555"}
	r.Processes[0].Notebook = "/home/ada/work/train.ipynb"
	for i := range r.Processes {
		r.Processes[i].Kernel = names[r.Processes[i].PID]
	}
	frames := func(pid int, stack []model.Frame) {
		for i := range stack {
			if stack[i].InCell() {
				stack[i].Kernel = names[pid]
			}
		}
	}
	for i := range r.Windows {
		w := &r.Windows[i]
		w.Kernel = names[w.PID]
		if w.Kind == model.Cell && len(w.Allocations) > 0 {
			w.Allocations = append(w.Allocations,
				model.Allocation{Meter: "cpu.numpy", Allocated: 3 * MiB, Freed: 3 * MiB, Count: 1, Stack: []model.Frame{
					{Function: "make", File: "/tmp/ipykernel_4242/2398848727.py", Line: 4, ExecutionCount: Number(2)},
					{
						Function: "<module>", File: "/tmp/ipykernel_4242/77.py", Line: 1, Execution: w.Execution,
						ExecutionCount: w.ExecutionCount,
					},
				}})
		}
		for _, a := range w.Allocations {
			frames(w.PID, a.Stack)
		}
	}
	for i := range r.Between {
		b := &r.Between[i]
		b.Kernel = names[b.PID]
		b.Label += " of " + b.Kernel
	}
	for i := range r.Lines {
		one := []model.Frame{r.Lines[i].Frame}
		frames(r.Lines[i].PID, one)
		r.Lines[i].Frame = one[0]
	}
}
