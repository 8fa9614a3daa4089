package reporttest

import "ipytracer/model"

// Rich returns a day at the notebook: experiments that nest and overlap, failed and silent cells, children, gaps.
func Rich() *model.Report {
	report := &model.Report{Schema: model.Schema, Host: host(), Processes: []model.Process{Kernel()},
		Meters: exactMeters()}
	report.Processes = append(report.Processes,
		model.Process{PID: 4300, Parent: 4242, Command: "python3 -c pass", StartNS: MS, EndNS: 90 * MS, Ended: true,
			Meters: All(Fig(0, 300*MiB, 0), Fig(0, 310*MiB, 0), Fig(0, 256*MiB, 0))})
	report.Windows = append(report.Windows,
		model.Window{
			ID: 1, Kind: model.Session, PID: 4242, Status: model.OK, DurationNS: 185_400 * MS, CPUNS: 20_000 * MS,
			Meters: Kernel().Meters,
		})
	report.Windows = append(report.Windows, experiment(2, 1, "training", 900, 60_000), experiment(3, 2, "load data",
		1000, 8_000),
		experiment(4, 1, "overlapping 実験", 30_000, 90_000))
	report.Windows = append(report.Windows, richCells()...)
	report.Between = []model.Between{
		{
			PID: 4242, After: 0, Before: 10, Label: "before In[1]", StartNS: 0, DurationNS: 900 * MS,
			Meters: All(Fig(68*MiB, 68*MiB, 68*MiB), Fig(90*MiB, 90*MiB, 90*MiB), Fig(0, 0, 0)),
		},
		{PID: 4242, After: 10, Before: 11, Label: "between In[1] and In[2]", StartNS: 1000 * MS, DurationNS: 4200 * MS,
			Meters: All(Fig(211*MiB, 211*MiB+900*KiB, 150*MiB), Fig(240*MiB, 240*MiB, 180*MiB),
				Fig(128*MiB, 128*MiB, 64*MiB))},
		{
			PID: 4242, After: 11, Before: 12, Label: "between In[2] and In[3]", StartNS: 9000 * MS, DurationNS: 12 * MS,
			Meters: All(Fig(GiB, GiB, GiB), Fig(GiB, GiB, GiB), Fig(GiB, GiB, GiB)),
		},
		{
			PID: 4242, After: 14, Before: 15, Label: "between a silent cell (run 5) and a silent cell (run 6)",
			StartNS: 14_000 * MS, DurationNS: 120 * MS,
			Meters: All(Fig(712*MiB, 720*MiB, 720*MiB), Fig(742*MiB, 742*MiB, 742*MiB), Fig(576*MiB, 576*MiB, 576*MiB)),
		},
	}
	report.Certificate = model.Certificate{
		Complete: true, Attribution: model.Attribution{Complete: true}, Finished: "interrupted", Made: 1_234_567,
		Delivered: 1_234_567, UnknownFrees: 3,
		LateLibraries: []string{
			"/home/ada/env/lib/python3.11/site-packages/numpy/core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so",
		},
		Probes: []model.Probe{
			{Name: "rss_stat", Site: "tp_btf/rss_stat", Hits: 1_100_213},
			{Name: "cell_open", Site: "Py_CompileStringObject+4 in /usr/bin/python3.11", Hits: 7},
			{Name: "numpy_track", Site: "PyTraceMalloc_Track+7 in /usr/bin/python3.11", Hits: 90_112},
		},
	}
	for _, m := range report.Meters {
		report.Certificate.Meters = append(report.Certificate.Meters, model.Proof{ID: m.ID, Compared: 28, Agreed: 28})
	}
	return report
}

func experiment(id, parent int, name string, startMS, lengthMS int64) model.Window {
	return model.Window{
		ID: id, Parent: parent, Kind: model.Experiment, PID: 4242, Name: name, Status: model.OK, StartNS: startMS * MS,
		DurationNS: lengthMS * MS, CPUNS: -1,
		Meters: All(Fig(100*MiB, 3*GiB, GiB), Fig(120*MiB, 3*GiB, GiB), Fig(0, 2*GiB, GiB)),
	}
}

func richCells() []model.Window {
	load := CellWindow(10, 1, "import numpy as np\nimport pandas as pd\n")
	load.Meters = All(Fig(68*MiB, 143*MiB, 142*MiB+512*KiB), Fig(90*MiB, 166*MiB, 165*MiB), Fig(0, 4*KiB, 0))
	ones := CellWindow(11, 2, "%%time\nx = np.ones((1024, 1024, 128))\ny = x * 2 + 1\n")
	ones.DurationNS = 2412 * MS
	ones.Meters = All(Fig(150*MiB, 3*GiB, GiB+150*MiB), Fig(180*MiB, 3*GiB+20*MiB, GiB+180*MiB),
		Fig(64*MiB, 3*GiB-90*MiB, GiB+64*MiB))
	body := CellWindow(12, 3, "import gc\ndata = [np.ones(1 << 20) for _ in range(64)]\nbig = np.concatenate(\n"+
		"    data\n)\ndel data\n%timeit -n2 big.sum()\nfiles = !ls *.csv\n")
	body.DurationNS = 65_000 * MS
	body.Meters = All(Fig(200*MiB, 1224*MiB, 712*MiB), Fig(230*MiB, 1254*MiB, 742*MiB), Fig(64*MiB, 1088*MiB, 576*MiB))
	body.Allocations, body.Coverage = allocations()
	failed := CellWindow(13, 4, "raise MemoryError('no room')")
	failed.Status = model.Error
	failed.Meters = All(Fig(712*MiB, 712*MiB+84*KiB, 712*MiB+84*KiB), Fig(742*MiB, 742*MiB, 742*MiB),
		Fig(576*MiB, 576*MiB, 576*MiB))
	silent := CellWindow(14, 5, "_check_something()")
	silent.ExecutionCount, silent.Silent = nil, true
	silent.Meters = All(Fig(712*MiB, 712*MiB, 712*MiB), Fig(742*MiB, 742*MiB, 742*MiB), Fig(576*MiB, 576*MiB, 576*MiB))
	nested := CellWindow(15, 6, "get_ipython().run_cell('z = 1')")
	nested.ExecutionCount = nil
	nested.Parent = 13
	nested.Status, nested.Note = model.Incomplete, "still running when the tracer was detached"
	nested.Meters = All(Fig(712*MiB, 720*MiB, 650*MiB), Fig(742*MiB, 742*MiB, 742*MiB), Fig(576*MiB, 576*MiB, 576*MiB))
	pool := CellWindow(16, 7,
		"from joblib import Parallel, delayed\nParallel(n_jobs=2)(delayed(f)(i) for i in range(10))")
	pool.DurationNS = 185_000 * MS
	pool.Meters = All(Fig(712*MiB, 730*MiB, 729*MiB), Fig(742*MiB, 770*MiB, 770*MiB), Fig(576*MiB, 580*MiB, 576*MiB))
	pool.Tree = All(Fig(712*MiB, 1730*MiB, 729*MiB), Fig(742*MiB, 1800*MiB, 770*MiB), Fig(576*MiB, 1580*MiB, 576*MiB))
	pool.Children = []model.Child{
		{
			PID: 5001, Command: "python3 -m joblib.externals.loky.backend.popen_loky_posix --pid 5001",
			Meters: All(Fig(0, 400*MiB, 0), Fig(0, 420*MiB, 0), Fig(0, 380*MiB, 0)),
		},
		{
			PID: 5002, Command: "python3 -m joblib.externals.loky.backend.popen_loky_posix --pid 5002",
			Meters: All(Fig(0, 620*MiB, 0), Fig(0, 640*MiB, 0), Fig(0, 600*MiB, 0)),
		},
	}
	windows := []model.Window{load, ones, body, failed, silent, nested, pool}
	same := All(Fig(200*MiB, 200*MiB, 200*MiB), Fig(230*MiB, 230*MiB, 230*MiB), Fig(64*MiB, 64*MiB, 64*MiB))
	windows = append(windows,
		StatementWindow(20, 11, 1, ones.Meters),
		StatementWindow(30, 12, 1, same),
		StatementWindow(31, 12, 2, All(Fig(200*MiB, 712*MiB, 712*MiB), Fig(230*MiB, 742*MiB, 742*MiB),
			Fig(64*MiB, 576*MiB, 576*MiB))),
		StatementWindow(32, 12, 3, All(Fig(712*MiB, 1224*MiB, 1224*MiB), Fig(742*MiB, 1254*MiB, 1254*MiB),
			Fig(576*MiB, 1088*MiB, 1088*MiB))),
		StatementWindow(33, 12, 6, All(Fig(1224*MiB, 1224*MiB, 712*MiB), Fig(1254*MiB, 1254*MiB, 742*MiB),
			Fig(1088*MiB, 1088*MiB, 576*MiB))),
		StatementWindow(34, 12, 7, All(Fig(712*MiB, 712*MiB+4*KiB, 712*MiB), Fig(742*MiB, 742*MiB, 742*MiB),
			Fig(576*MiB, 576*MiB+16, 576*MiB))),
		StatementWindow(35, 12, 8, same))
	return windows
}

// allocations returns the allocations of the cell that makes a list of arrays and joins them.
func allocations() ([]model.Allocation, map[string]model.Coverage) {
	cell := func(line int, function string) model.Frame {
		return model.Frame{
			Function: function, File: "/tmp/ipykernel_4242/3.py", Line: line, Execution: 3, ExecutionCount: Number(3),
		}
	}
	library := func(function string, line int) model.Frame {
		return model.Frame{Function: function, File: "/usr/lib/python3/dist-packages/numpy/core/numeric.py", Line: line}
	}
	native := func(module, function string) model.Frame {
		return model.Frame{Function: function, Module: module, Native: true}
	}
	return []model.Allocation{
		{
			Meter: "cpu.numpy", Stack: []model.Frame{library("ones", 205), cell(2, "<listcomp>"), cell(2, "<module>")},
			Allocated: 512 * MiB, Freed: 512 * MiB, AtPeak: 512 * MiB, Count: 64,
		},
		{
			Meter: "cpu.numpy", Stack: []model.Frame{library("concatenate", 180), cell(3, "<module>")},
			Allocated: 512 * MiB, Net: 512 * MiB, AtPeak: 512 * MiB, Count: 1,
		},
		{
			Meter: "cpu.numpy",
			Stack: []model.Frame{
				{Function: "Loader.read", File: "/home/ada/load.py", Line: 17},
				{Function: "<module>", File: "/tmp/1.py", Line: 4, Execution: 1},
			},
			AtPeak: 63 * MiB,
		},
		{
			Meter: "cpu.numpy", Stack: []model.Frame{library("inner", 12), library("outer", 9), cell(7, "<module>")},
			Allocated: 32, Freed: 32, AtPeak: 0, Count: 2,
		},
		{
			Meter: "cpu.numpy",
			Stack: []model.Frame{
				native("_umath.so", "PyDataMem_UserNEW"), native("_umath.so", "array_empty"), library("empty", 30),
				cell(4, "<module>"),
			},
			Allocated: 96, Net: 96, AtPeak: 96, Count: 1,
		},
		{
			Meter: "cpu.numpy",
			Stack: []model.Frame{
				native("libx.so", "take"), native("liby.so", "liby.so+0x12ab"), native("libc.so.6", "start_thread"),
			},
			Allocated: 80, Net: 80, AtPeak: 80, Count: 1,
		},
		{
			Meter: "cpu.numpy", Stack: []model.Frame{}, Allocated: 64 * KiB, AtPeak: 64 * KiB, Net: 64 * KiB, Count: 1,
			StackTruncated: true,
		},
	}, map[string]model.Coverage{"cpu.numpy": {AtPeak: 1087*MiB + 64*KiB + 176, Rest: MiB - 64*KiB - 176, Exact: true}}
}
