package report_test

import (
	"strings"
	"testing"

	"ipytracer/report"
)

// withLines is a session that knows who allocated.
func withLines() *report.Report {
	r := rich()
	count := 3
	cell := report.Frame{Function: "step", File: "/tmp/ipykernel_1/2.py", Line: 1, Execution: 3, ExecutionCount: &count}
	r.Lines = []report.Line{
		{PID: 4242, Meter: "cpu.numpy", Frame: cell, Allocated: 900 << 20, Freed: 400 << 20, Net: 500 << 20, AtPeak: 700 << 20, Count: 12},
		{PID: 4242, Meter: "cpu.numpy", Frame: report.Frame{Function: "ones", File: "/usr/lib/python3/dist-packages/numpy/core/numeric.py", Line: 191},
			Allocated: 900 << 20, AtPeak: 700 << 20, OwnAllocated: 900 << 20, OwnAtPeak: 700 << 20, Count: 12},
		{PID: 4242, Meter: "gpu.0.active", Frame: report.Frame{Function: "Net.forward", File: "/home/me/net.py", Line: 40}, Allocated: 1 << 30, Net: 1 << 30, AtPeak: 1 << 30, Count: 4},
		{PID: 4242, Meter: "cpu.numpy", Frame: report.Frame{Function: "tiny", File: "/home/me/net.py", Line: 41}, Allocated: 100, AtPeak: 100, Count: 1},
	}
	r.Tensors = []report.Tensors{
		{PID: 4242, Meter: "gpu.0.active", Size: 512 << 20, Count: 2, Bytes: 1 << 30, Rounding: 384, Stack: []report.Frame{{Function: "Net.forward", File: "/home/me/net.py", Line: 40}, cell}},
		{PID: 4242, Meter: "gpu.0.active", Size: 512, Count: 9, Bytes: 9 * 512, Unknown: 9, Stack: []report.Frame{}},
	}
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
