package reporttest

import "ipytracer/model"

// Audited returns an audit with two verdicts, and every other part of an audit.
func Audited() *model.Audit {
	five, before := 5, int64(64<<20)
	return &model.Audit{
		Processes: []model.AuditProcess{
			{
				PID: 4242, Command: "python3 -m ipykernel_launcher -f k.json", Python: "3.11.2", IPython: "8.5.0",
				Late: true, Objects: 181_234,
			},
		},
		Cells: 12, DurationNS: 93e9, Least: 1 << 20, NotJudged: []model.NotJudged{
			{
				Reason: model.ChangesLost,
				Why:    "changes were lost: some blocks are not known, or seem to be there still",
				Advice: "a larger --ring loses none",
			},
			{
				Reason: model.MadeBefore, Meter: "cpu.resident", PID: 4242, Bytes: &before,
				Why: "it was there when the audit began", Advice: "sudo tracer run",
			},
		},
		Verdicts: verdicts(),
		Live: []model.LiveBlocks{
			{
				PID: 4242, Meter: "gpu.0.active", By: "variable", Holder: "losses['top secret'][3]", Bytes: 305 << 20,
				Count: 4, Executions: []int{2, 3, 4, 5}, ExecutionCounts: []int{2, 3, 4, 5},
				Stack: []model.Frame{
					{Function: "step", File: "/home/me/train.py", Line: 17},
					{Function: "<module>", File: "/tmp/c.py", Line: 2, Execution: 5, ExecutionCount: &five},
				},
			},
			{PID: 4242, Meter: "cpu.numpy", By: "unknown", Bytes: 100, Count: 1},
		},
		Variables: []model.Variable{
			{
				PID: 4242, Name: "losses", Kind: "variable", Type: "list", Bytes: 9000, Reaches: 9000,
				Device: 305 << 20, Exact: true, Stack: []model.Frame{},
			},
			{
				PID: 4242, Name: "x\x1b[31m", Kind: "variable", Type: "evil\x1b[0m", DType: "\x1b", Bytes: 1 << 20,
				Reaches: 1 << 20, Stack: []model.Frame{},
			},
		},
		Names: []model.Names{{PID: 4242, Objects: 90 << 20, Complete: true}},
		Held: []model.Held{
			{PID: 4242, Meter: "gpu.0.active", By: "variable", Holder: "losses", Bytes: 305 << 20, Count: 4},
		},
	}
}

// verdicts returns a verdict about a cell, and one about a child process.
func verdicts() []model.Verdict {
	three, five := 3, 5
	return []model.Verdict{
		{
			Kind: model.RerunGrowth, Meter: "gpu.0.active", PID: 4242, Bytes: 305 << 20, Count: 4,
			Executions: []int{2, 3, 4, 5}, ExecutionCounts: []int{2, 3, 4, 5},
			Stack: []model.Frame{
				{Function: "step", File: "/home/me/train.py", Line: 17},
				{Function: "<module>", File: "/tmp/c.py", Line: 2, Execution: 5, ExecutionCount: &five},
			},
			AgeNS: 80e9, Holder: "losses['top \x1b[31m secret'][3]",
			Growth: &model.Growth{Runs: 4, Slope: 76 << 20, Low: 76 << 20, High: 76 << 20},
			Evidence: "4 runs of this cell left 76.25 MiB each; held by the variable losses['top " +
				"\x1b[31m secret'][3]", Advice: "make losses anew at the top of the cell",
		},
		{
			Kind: model.ChildAlive, Meter: "cpu.resident", PID: 4242, Bytes: 2 << 20, Count: 1,
			Executions: []int{3}, ExecutionCounts: []int{3},
			Stack: []model.Frame{
				{Function: "<module>", File: "/tmp/c.py", Line: 1, Execution: 3, ExecutionCount: &three},
			},
			Command: "curl --token abc", Evidence: "still running since its cell ended: curl --token abc",
			Advice: "end it",
		},
	}
}

// WithLines returns a session with stacks.
func WithLines() *model.Report {
	report := Rich()
	count := 3
	cell := model.Frame{Function: "step", File: "/tmp/ipykernel_1/2.py", Line: 1, Execution: 3, ExecutionCount: &count}
	report.Lines = linesOf(cell)
	report.Tensors = []model.Tensors{
		{
			PID: 4242, Meter: "gpu.0.active", Size: 512 << 20, Count: 2, Bytes: 1 << 30, Rounding: 384,
			Stack: []model.Frame{{Function: "Net.forward", File: "/home/me/net.py", Line: 40}, cell},
		},
		{PID: 4242, Meter: "gpu.0.active", Size: 512, Count: 9, Bytes: 9 * 512, Unknown: 9, Stack: []model.Frame{}},
	}
	report.Variables = variablesOf(cell)
	report.Resident = []model.Resident{{PID: 4242, Total: 4110 << 20, Trim: 90 << 20, Parts: []model.ResidentPart{
		{Kind: "objects", Bytes: 300 << 20}, {Kind: "malloc-big", Bytes: 800 << 20},
		{Kind: "malloc-free", Bytes: 100 << 20}, {Kind: "stack", Bytes: 1000}, {Kind: "other", Bytes: 90<<20 - 1000},
		{Kind: "jemalloc", Bytes: 400 << 20},
		{Kind: "jemalloc-free", Bytes: 2100 << 20, Returns: 2000 << 20, File: "libjemalloc.so.2"},
		{Kind: "shared", Bytes: 320 << 20, File: "/dev/shm/joblib_… (deleted)"},
	}, Swapped: 12 << 20, Huge: 4 << 20}}
	report.Names = []model.Names{{PID: 4242, Unlisted: 3, Bytes: 96, Objects: 900 << 20}}
	report.ToFree = []model.Freeing{
		{PID: 4242, Type: "del model", Predicted: 40 << 10, Device: 1 << 30, Names: []string{"model"}},
		{PID: 4242, Type: "%xdel frame", Predicted: 512 << 20, Exact: true, Names: []string{"frame"}},
		{
			PID: 4242, Type: "del view; import gc; gc.collect();", Predicted: 8 << 20, Exact: true,
			Names: []string{"view"},
		},
	}
	return report
}

// linesOf returns lines that allocated: that of cell, and others.
func linesOf(cell model.Frame) []model.Line {
	return []model.Line{
		{
			PID: 4242, Meter: "cpu.numpy", Frame: cell, Allocated: 900 << 20, Freed: 400 << 20, Net: 500 << 20,
			AtPeak: 700 << 20, Count: 12,
		},
		{
			PID: 4242, Meter: "cpu.numpy",
			Frame: model.Frame{
				Function: "ones", File: "/usr/lib/python3/dist-packages/numpy/core/numeric.py", Line: 191,
			},
			Allocated: 900 << 20, AtPeak: 700 << 20, OwnAllocated: 900 << 20, OwnAtPeak: 700 << 20, Count: 12,
		},
		{
			PID: 4242, Meter: "gpu.0.active",
			Frame: model.Frame{Function: "Net.forward", File: "/home/me/net.py", Line: 40}, Allocated: 1 << 30,
			Net: 1 << 30, AtPeak: 1 << 30, Count: 4,
		},
		{
			PID: 4242, Meter: "cpu.numpy", Frame: model.Frame{Function: "tiny", File: "/home/me/net.py", Line: 41},
			Allocated: 100, AtPeak: 100, Count: 1,
		},
	}
}

// variablesOf returns names at the end of a session, one of them with memory that a cell made.
func variablesOf(cell model.Frame) []model.Variable {
	length, five := int64(50_000), 5
	return []model.Variable{
		{
			PID: 4242, Name: "frame", Also: []string{"Out[3]", "df", "again"}, Kind: "variable", Type: "DataFrame",
			Shape: []int64{50_000, 12}, Length: &length, Bytes: 512 << 20, Reaches: 700 << 20, Exact: true,
			Columns: []model.Column{
				{Name: "sku", DType: "object", Bytes: 320 << 20, Contents: &model.Contents{
					Elements: 50_000, Item: 8, Seen: 50_000, Distinct: 12, Longest: 9, ASCII: true, Missing: 1,
					Kinds:   []model.ContentsKind{{Kind: "str", Count: 49_999}, {Kind: "None", Count: 1}},
					Objects: 13, ObjectBytes: 700, DistinctBytes: 680, Characters: 300_000,
				}},
				{Name: "price", DType: "float64", Bytes: 100 << 20, Exact: true, Contents: &model.Contents{
					Elements: 13_107_200, Item: 8, Seen: 8192, Min: "-0.5", Max: "99.25", Zeros: 7, Missing: 3,
					Infinite: 1, Fits: "float32", SameAs: []string{"prices", "old['price']"},
				}},
				{Name: "n", Bytes: 400_000, Exact: true},
			},
			MoreColumns: 9, RestColumns: 3 << 20,
			Stack: []model.Frame{
				{Function: "ones", File: "/usr/lib/python3/dist-packages/numpy/core/numeric.py", Line: 191}, cell,
			},
			Execution: 3, ExecutionCount: cell.ExecutionCount, Line: 1,
		},
		{
			PID: 4242, Name: "model", Kind: "variable", Type: "Net", Bytes: 40 << 10, Reaches: 40 << 10,
			Device: 1 << 30, Stack: []model.Frame{},
		},
		{
			PID: 4242, Name: "grid", Kind: "variable", Type: "numpy.ndarray", Shape: []int64{300, 400},
			DType: "float64", Bytes: 960_000, Reaches: 960_000, Exact: true, Stack: []model.Frame{}, Before: true,
			Contents: &model.Contents{
				Elements: 120_000, Item: 8, Seen: 120_000, Layout: "F", Min: "0", Max: "18446744073709551615",
				Whole: true, Real: true, Distinct: 2, Ascending: true, Longest: 5, ASCII: true,
			},
		},
		{
			PID: 4242, Name: "names", Kind: "variable", Type: "list", Length: &length, Bytes: 900_000, Reaches: 900_000,
			Stack: []model.Frame{},
		},
		{
			PID: 4242, Name: "library._cache", Kind: "module", Type: "dict", Bytes: 800_000, Reaches: 800_000,
			Exact: true,
			Stack: []model.Frame{
				{Function: "<module>", File: "/tmp/c.py", Line: 2, Execution: 5, ExecutionCount: &five},
			},
			Execution: 5, ExecutionCount: &five, Line: 2,
		},
		{
			PID: 4242, Name: "view", Kind: "variable", Type: "numpy.ndarray", Shape: []int64{10}, Reaches: 8 << 20,
			Exact: true, Stack: []model.Frame{},
		},
		{
			PID: 4242, Name: "tiny", Kind: "variable", Type: "float", Bytes: 32, Reaches: 32, Exact: true,
			Stack: []model.Frame{},
		},
	}
}
