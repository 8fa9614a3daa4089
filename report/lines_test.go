package report_test

import (
	"strings"
	"testing"

	"ipytracer/model"
	"ipytracer/report"
)

// withLines is a session that knows who allocated.
func withLines() *model.Report {
	r := rich()
	count := 3
	cell := model.Frame{Function: "step", File: "/tmp/ipykernel_1/2.py", Line: 1, Execution: 3, ExecutionCount: &count}
	r.Lines = []model.Line{
		{PID: 4242, Meter: "cpu.numpy", Frame: cell, Allocated: 900 << 20, Freed: 400 << 20, Net: 500 << 20, AtPeak: 700 << 20, Count: 12},
		{PID: 4242, Meter: "cpu.numpy", Frame: model.Frame{Function: "ones", File: "/usr/lib/python3/dist-packages/numpy/core/numeric.py", Line: 191},
			Allocated: 900 << 20, AtPeak: 700 << 20, OwnAllocated: 900 << 20, OwnAtPeak: 700 << 20, Count: 12},
		{PID: 4242, Meter: "gpu.0.active", Frame: model.Frame{Function: "Net.forward", File: "/home/me/net.py", Line: 40}, Allocated: 1 << 30, Net: 1 << 30, AtPeak: 1 << 30, Count: 4},
		{PID: 4242, Meter: "cpu.numpy", Frame: model.Frame{Function: "tiny", File: "/home/me/net.py", Line: 41}, Allocated: 100, AtPeak: 100, Count: 1},
	}
	r.Tensors = []model.Tensors{
		{PID: 4242, Meter: "gpu.0.active", Size: 512 << 20, Count: 2, Bytes: 1 << 30, Rounding: 384, Stack: []model.Frame{{Function: "Net.forward", File: "/home/me/net.py", Line: 40}, cell}},
		{PID: 4242, Meter: "gpu.0.active", Size: 512, Count: 9, Bytes: 9 * 512, Unknown: 9, Stack: []model.Frame{}},
	}
	length, five := int64(50_000), 5
	r.Variables = []model.Variable{
		{PID: 4242, Name: "frame", Also: []string{"Out[3]", "df", "again"}, Kind: "variable", Type: "DataFrame", Shape: []int64{50_000, 12}, Length: &length, Bytes: 512 << 20, Reaches: 700 << 20, Exact: true,
			Stack: []model.Frame{{Function: "ones", File: "/usr/lib/python3/dist-packages/numpy/core/numeric.py", Line: 191}, cell}, Execution: 3, ExecutionCount: &count, Line: 1},
		{PID: 4242, Name: "model", Kind: "variable", Type: "Net", Bytes: 40 << 10, Reaches: 40 << 10, Device: 1 << 30, Stack: []model.Frame{}},
		{PID: 4242, Name: "grid", Kind: "variable", Type: "numpy.ndarray", Shape: []int64{300, 400}, DType: "float64", Bytes: 960_000, Reaches: 960_000, Exact: true, Stack: []model.Frame{}, Before: true},
		{PID: 4242, Name: "names", Kind: "variable", Type: "list", Length: &length, Bytes: 900_000, Reaches: 900_000, Stack: []model.Frame{}},
		{PID: 4242, Name: "library._cache", Kind: "module", Type: "dict", Bytes: 800_000, Reaches: 800_000, Exact: true, Stack: []model.Frame{{Function: "<module>", File: "/tmp/c.py", Line: 2, Execution: 5, ExecutionCount: &five}}, Execution: 5, ExecutionCount: &five, Line: 2},
		{PID: 4242, Name: "view", Kind: "variable", Type: "numpy.ndarray", Shape: []int64{10}, Reaches: 8 << 20, Exact: true, Stack: []model.Frame{}},
		{PID: 4242, Name: "tiny", Kind: "variable", Type: "float", Bytes: 32, Reaches: 32, Exact: true, Stack: []model.Frame{}},
	}
	r.Resident = []model.Resident{{PID: 4242, Total: 1290 << 20, Trim: 90 << 20, Parts: []model.ResidentPart{
		{Kind: "objects", Bytes: 300 << 20}, {Kind: "malloc-big", Bytes: 800 << 20}, {Kind: "malloc-free", Bytes: 100 << 20}, {Kind: "stack", Bytes: 1000}, {Kind: "other", Bytes: 90<<20 - 1000},
	}}}
	r.Names = []model.Names{{PID: 4242, Unlisted: 3, Bytes: 96, Objects: 900 << 20}}
	return r
}

// TestLines: the user's lines are in the table, a library's and tiny ones are not; tensors are grouped.
func TestLines(t *testing.T) {
	out := text(t, withLines(), report.TextOptions{Full: true})
	from := strings.Index(out, "Lines, with all")
	to := strings.Index(out, "Between cells")
	if from < 0 || to < from {
		t.Fatal("no such sections in:\n" + out)
	}
	golden(t, "lines.txt", []byte(out[from:to]))
}
