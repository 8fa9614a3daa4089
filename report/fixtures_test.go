package report_test

import (
	"fmt"
	"strings"

	"ipytracer/model"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
	ms  = int64(1e6)
)

func fig(start, peak, end int64) model.Figure {
	zero := int64(0)
	return model.Figure{Start: start, Peak: peak, End: end, Consumed: end - start, Peaked: peak - max(start, end), Exact: true, Bound: &zero}
}

func within(f model.Figure, bound int64) model.Figure {
	f.Exact, f.Bound = false, &bound
	return f
}

func atLeast(f model.Figure) model.Figure {
	f.Exact, f.Bound = false, nil
	return f
}

// all gives the three meters and the parts of resident plausible figures.
func all(resident, mapped, numpy model.Figure) map[string]model.Figure {
	return map[string]model.Figure{
		"cpu.resident": resident, "cpu.mapped": mapped, "cpu.numpy": numpy,
		"cpu.resident.anon": resident, "cpu.resident.file": fig(0, 0, 0), "cpu.resident.shmem": fig(0, 0, 0),
	}
}

func number(n int) *int { return &n }

func exactMeters() []model.Meter {
	zero := int64(0)
	source := map[string]string{
		"cpu.mapped":   "tp_btf/sys_exit of mmap, munmap, mremap, brk, mprotect; mm->data_vm",
		"cpu.resident": "tp_btf/rss_stat, per-CPU counters summed",
		"cpu.numpy":    "uprobes on PyTraceMalloc_Track and PyTraceMalloc_Untrack",
	}
	var meters []model.Meter
	for _, id := range []string{"cpu.mapped", "cpu.resident", "cpu.resident.anon", "cpu.resident.file", "cpu.resident.shmem", "cpu.numpy"} {
		s := source[id]
		if s == "" {
			s = source["cpu.resident"]
		}
		meters = append(meters, model.Meter{ID: id, Unit: "bytes", Source: s, Exact: true, Bound: &zero})
	}
	return meters
}

func host() model.Host {
	return model.Host{Name: "devbox", Kernel: "6.18.44", CPUs: 2, Memory: 23 * gib, Tracer: "0.1.0", Started: "2026-03-02T09:14:05.123456789Z"}
}

func kernel() model.Process {
	return model.Process{PID: 4242, Command: "/usr/bin/python3 -m ipykernel_launcher -f /run/user/1000/jupyter/kernel-1.json", Python: "3.11.2",
		IPython: "8.5.0", Frontend: "ipykernel", EndNS: 185_400 * ms, Late: true,
		Meters: all(fig(68*mib, 3*gib, 1200*mib), fig(90*mib, 3*gib+40*mib, 1300*mib), fig(0, 2*gib, 1*gib))}
}

func cellWindow(id, execution int, source string) model.Window {
	return model.Window{ID: id, Parent: 1, Kind: model.Cell, PID: 4242, Execution: execution, ExecutionCount: number(execution), Source: source,
		Status: model.OK, StartNS: int64(execution) * 1000 * ms, DurationNS: 180 * ms, CPUNS: 170 * ms}
}

func statementWindow(id, parent, line int, m map[string]model.Figure) model.Window {
	return model.Window{ID: id, Parent: parent, Kind: model.Statement, PID: 4242, Line: line, Status: model.OK,
		StartNS: int64(id) * ms, DurationNS: 5 * ms, CPUNS: -1, Meters: m}
}

// rich is a day at the notebook: experiments that nest and overlap, failed and silent cells, children, gaps.
func rich() *model.Report {
	r := &model.Report{Schema: model.Schema, Host: host(), Processes: []model.Process{kernel()}, Meters: exactMeters()}
	r.Processes = append(r.Processes, model.Process{PID: 4300, Parent: 4242, Command: "python3 -c pass", StartNS: ms, EndNS: 90 * ms, Ended: true,
		Meters: all(fig(0, 300*mib, 0), fig(0, 310*mib, 0), fig(0, 256*mib, 0))})
	r.Windows = append(r.Windows, model.Window{ID: 1, Kind: model.Session, PID: 4242, Status: model.OK, DurationNS: 185_400 * ms, CPUNS: 20_000 * ms,
		Meters: kernel().Meters})
	r.Windows = append(r.Windows, experiment(2, 1, "training", 900, 60_000), experiment(3, 2, "load data", 1000, 8_000), experiment(4, 1, "overlapping 実験", 30_000, 90_000))
	r.Windows = append(r.Windows, richCells()...)
	r.Between = []model.Between{
		{PID: 4242, After: 0, Before: 10, Label: "before In[1]", StartNS: 0, DurationNS: 900 * ms, Meters: all(fig(68*mib, 68*mib, 68*mib), fig(90*mib, 90*mib, 90*mib), fig(0, 0, 0))},
		{PID: 4242, After: 10, Before: 11, Label: "between In[1] and In[2]", StartNS: 1000 * ms, DurationNS: 4200 * ms,
			Meters: all(fig(211*mib, 211*mib+900*kib, 150*mib), fig(240*mib, 240*mib, 180*mib), fig(128*mib, 128*mib, 64*mib))},
		{PID: 4242, After: 11, Before: 12, Label: "between In[2] and In[3]", StartNS: 9000 * ms, DurationNS: 12 * ms, Meters: all(fig(gib, gib, gib), fig(gib, gib, gib), fig(gib, gib, gib))},
		{PID: 4242, After: 14, Before: 15, Label: "between a silent cell (run 5) and a silent cell (run 6)", StartNS: 14_000 * ms, DurationNS: 120 * ms,
			Meters: all(fig(712*mib, 720*mib, 720*mib), fig(742*mib, 742*mib, 742*mib), fig(576*mib, 576*mib, 576*mib))},
	}
	r.Certificate = model.Certificate{Complete: true, Finished: "interrupted", Made: 1_234_567, Delivered: 1_234_567, UnknownFrees: 3,
		LateLibraries: []string{"/home/ada/env/lib/python3.11/site-packages/numpy/core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so"},
		Probes: []model.Probe{
			{Name: "rss_stat", Site: "tp_btf/rss_stat", Hits: 1_100_213},
			{Name: "cell_open", Site: "Py_CompileStringObject+4 in /usr/bin/python3.11", Hits: 7},
			{Name: "numpy_track", Site: "PyTraceMalloc_Track+7 in /usr/bin/python3.11", Hits: 90_112},
		}}
	for _, m := range r.Meters {
		r.Certificate.Meters = append(r.Certificate.Meters, model.Proof{ID: m.ID, Compared: 28, Agreed: 28})
	}
	return r
}

func experiment(id, parent int, name string, startMS, lengthMS int64) model.Window {
	return model.Window{ID: id, Parent: parent, Kind: model.Experiment, PID: 4242, Name: name, Status: model.OK, StartNS: startMS * ms,
		DurationNS: lengthMS * ms, CPUNS: -1, Meters: all(fig(100*mib, 3*gib, gib), fig(120*mib, 3*gib, gib), fig(0, 2*gib, gib))}
}

func richCells() []model.Window {
	load := cellWindow(10, 1, "import numpy as np\nimport pandas as pd\n")
	load.Meters = all(fig(68*mib, 143*mib, 142*mib+512*kib), fig(90*mib, 166*mib, 165*mib), fig(0, 4*kib, 0))
	ones := cellWindow(11, 2, "%%time\nx = np.ones((1024, 1024, 128))\ny = x * 2 + 1\n")
	ones.DurationNS = 2412 * ms
	ones.Meters = all(fig(150*mib, 3*gib, gib+150*mib), fig(180*mib, 3*gib+20*mib, gib+180*mib), fig(64*mib, 3*gib-90*mib, gib+64*mib))
	body := cellWindow(12, 3, "import gc\ndata = [np.ones(1 << 20) for _ in range(64)]\nbig = np.concatenate(\n    data\n)\ndel data\n%timeit -n2 big.sum()\nfiles = !ls *.csv\n")
	body.DurationNS = 65_000 * ms
	body.Meters = all(fig(200*mib, 1224*mib, 712*mib), fig(230*mib, 1254*mib, 742*mib), fig(64*mib, 1088*mib, 576*mib))
	body.Allocations, body.Coverage = allocations()
	failed := cellWindow(13, 4, "raise MemoryError('no room')")
	failed.Status = model.Error
	failed.Meters = all(fig(712*mib, 712*mib+84*kib, 712*mib+84*kib), fig(742*mib, 742*mib, 742*mib), fig(576*mib, 576*mib, 576*mib))
	silent := cellWindow(14, 5, "_check_something()")
	silent.ExecutionCount, silent.Silent = nil, true
	silent.Meters = all(fig(712*mib, 712*mib, 712*mib), fig(742*mib, 742*mib, 742*mib), fig(576*mib, 576*mib, 576*mib))
	nested := cellWindow(15, 6, "get_ipython().run_cell('z = 1')")
	nested.ExecutionCount = nil
	nested.Parent = 13
	nested.Status, nested.Note = model.Incomplete, "still running when the tracer was detached"
	nested.Meters = all(fig(712*mib, 720*mib, 650*mib), fig(742*mib, 742*mib, 742*mib), fig(576*mib, 576*mib, 576*mib))
	pool := cellWindow(16, 7, "from joblib import Parallel, delayed\nParallel(n_jobs=2)(delayed(f)(i) for i in range(10))")
	pool.DurationNS = 185_000 * ms
	pool.Meters = all(fig(712*mib, 730*mib, 729*mib), fig(742*mib, 770*mib, 770*mib), fig(576*mib, 580*mib, 576*mib))
	pool.Tree = all(fig(712*mib, 1730*mib, 729*mib), fig(742*mib, 1800*mib, 770*mib), fig(576*mib, 1580*mib, 576*mib))
	pool.Children = []model.Child{
		{PID: 5001, Command: "python3 -m joblib.externals.loky.backend.popen_loky_posix --pid 5001", Meters: all(fig(0, 400*mib, 0), fig(0, 420*mib, 0), fig(0, 380*mib, 0))},
		{PID: 5002, Command: "python3 -m joblib.externals.loky.backend.popen_loky_posix --pid 5002", Meters: all(fig(0, 620*mib, 0), fig(0, 640*mib, 0), fig(0, 600*mib, 0))},
	}
	windows := []model.Window{load, ones, body, failed, silent, nested, pool}
	same := all(fig(200*mib, 200*mib, 200*mib), fig(230*mib, 230*mib, 230*mib), fig(64*mib, 64*mib, 64*mib))
	windows = append(windows,
		statementWindow(20, 11, 1, ones.Meters),
		statementWindow(30, 12, 1, same),
		statementWindow(31, 12, 2, all(fig(200*mib, 712*mib, 712*mib), fig(230*mib, 742*mib, 742*mib), fig(64*mib, 576*mib, 576*mib))),
		statementWindow(32, 12, 3, all(fig(712*mib, 1224*mib, 1224*mib), fig(742*mib, 1254*mib, 1254*mib), fig(576*mib, 1088*mib, 1088*mib))),
		statementWindow(33, 12, 6, all(fig(1224*mib, 1224*mib, 712*mib), fig(1254*mib, 1254*mib, 742*mib), fig(1088*mib, 1088*mib, 576*mib))),
		statementWindow(34, 12, 7, all(fig(712*mib, 712*mib+4*kib, 712*mib), fig(742*mib, 742*mib, 742*mib), fig(576*mib, 576*mib+16, 576*mib))),
		statementWindow(35, 12, 8, same))
	return windows
}

// allocations are those of the cell that makes a list of arrays and joins them.
func allocations() ([]model.Allocation, map[string]model.Coverage) {
	cell := func(line int, function string) model.Frame {
		return model.Frame{Function: function, File: "/tmp/ipykernel_4242/3.py", Line: line, Execution: 3, ExecutionCount: number(3)}
	}
	library := func(function string, line int) model.Frame {
		return model.Frame{Function: function, File: "/usr/lib/python3/dist-packages/numpy/core/numeric.py", Line: line}
	}
	native := func(module, function string) model.Frame {
		return model.Frame{Function: function, Module: module, Native: true}
	}
	return []model.Allocation{
		{Meter: "cpu.numpy", Stack: []model.Frame{library("ones", 205), cell(2, "<listcomp>"), cell(2, "<module>")}, Allocated: 512 * mib, Freed: 512 * mib, AtPeak: 512 * mib, Count: 64},
		{Meter: "cpu.numpy", Stack: []model.Frame{library("concatenate", 180), cell(3, "<module>")}, Allocated: 512 * mib, Net: 512 * mib, AtPeak: 512 * mib, Count: 1},
		{Meter: "cpu.numpy", Stack: []model.Frame{{Function: "Loader.read", File: "/home/ada/load.py", Line: 17}, {Function: "<module>", File: "/tmp/1.py", Line: 4, Execution: 1}},
			AtPeak: 63 * mib},
		{Meter: "cpu.numpy", Stack: []model.Frame{library("inner", 12), library("outer", 9), cell(7, "<module>")}, Allocated: 32, Freed: 32, AtPeak: 0, Count: 2},
		{Meter: "cpu.numpy", Stack: []model.Frame{native("_umath.so", "PyDataMem_UserNEW"), native("_umath.so", "array_empty"), library("empty", 30), cell(4, "<module>")}, Allocated: 96, Net: 96, AtPeak: 96, Count: 1},
		{Meter: "cpu.numpy", Stack: []model.Frame{native("libx.so", "take"), native("liby.so", "liby.so+0x12ab"), native("libc.so.6", "start_thread")}, Allocated: 80, Net: 80, AtPeak: 80, Count: 1},
		{Meter: "cpu.numpy", Stack: []model.Frame{}, Allocated: 64 * kib, AtPeak: 64 * kib, Net: 64 * kib, Count: 1, StackTruncated: true},
	}, map[string]model.Coverage{"cpu.numpy": {AtPeak: 1087*mib + 64*kib + 176, Rest: mib - 64*kib - 176, Exact: true}}
}

// inexact has a bounded meter, a shed one, and a stream with losses.
func inexact() *model.Report {
	r := rich()
	bound := 64 * kib
	for i := range r.Meters {
		switch r.Meters[i].ID {
		case "cpu.mapped":
			r.Meters[i].Exact, r.Meters[i].Bound, r.Meters[i].Source = false, &bound, "page faults only"
		case "cpu.numpy":
			r.Meters[i].Exact, r.Meters[i].Bound = false, nil
		case "cpu.resident.shmem":
			r.Meters[i] = model.Meter{ID: r.Meters[i].ID, Unit: "bytes", Bound: new(int64)}
		}
	}
	for i := range r.Windows {
		m := r.Windows[i].Meters
		m["cpu.mapped"], m["cpu.numpy"] = within(m["cpu.mapped"], bound), atLeast(m["cpu.numpy"])
	}
	delete(r.Windows[4].Meters, "cpu.numpy")
	r.Windows[6].Coverage["cpu.numpy"] = model.Coverage{AtPeak: 1000 * mib, Rest: 88 * mib}
	c := &r.Certificate
	c.Complete, c.Delivered = false, c.Made-48
	c.Incomplete = []string{
		"48 of 1,234,567 changes did not reach this report: peaks stand, the kernel itself keeps them; part of their proof is missing, and of who allocated",
		"beginnings and ends of experiments refused: too many at a time (15,789)",
	}
	c.Lost = []model.Loss{{Reason: "event ring full", Count: 40}, {Reason: "numpy shed", Count: 8}, {Reason: "never", Count: 0}}
	c.BoundariesLost = 1
	c.Meters[0].Agreed, c.Meters[0].Difference = 26, 12*kib
	c.Meters[5] = model.Proof{ID: "cpu.numpy", Compared: 20, Agreed: 20, Skipped: 8, Shed: true}
	c.Problems = []string{"window refused: 33 experiments are open at once and the limit is 32; the last one was not measured, end one of them first"}
	return r
}

const evil = "\x1b[31mred\x1b[0m \x1b]0;title\x07\x00\u202egnp.exe\u2066\u200b\u009b2J\xff\xfe\r\nnext\ttab 日本語 e\u0301\u0301\u0301\u0301\u0301\u0301\u0301"

// hostile has every string the target can choose set against the terminal.
func hostile() *model.Report {
	r := rich()
	r.Host.Name, r.Host.Kernel = evil, evil
	p := &r.Processes[0]
	p.Command, p.Python, p.IPython, p.Frontend = evil+strings.Repeat("A", 1<<16), evil, evil, evil
	for i := range r.Windows {
		w := &r.Windows[i]
		w.Name, w.Note = evil, evil
		w.Source = evil + "\n" + w.Source
		for j := range w.Children {
			w.Children[j].Command = evil
		}
		for _, a := range w.Allocations {
			for j := range a.Stack {
				a.Stack[j].Function, a.Stack[j].File = evil, evil
			}
		}
	}
	r.Windows[5].Source = strings.Repeat("漢字かな", 1<<15)
	r.Windows[6].Source = "=cmd|' /C calc'!A0\nx = \"\"\"\nget_ipython().system('ls')\n\"\"\""
	for i := range r.Between {
		r.Between[i].Label, r.Between[i].After = evil, 0
	}
	c := &r.Certificate
	c.Finished, c.LateLibraries, c.Problems = evil, []string{evil}, []string{evil, strings.Repeat("word ", 1000)}
	c.Lost = []model.Loss{{Reason: evil, Count: 1}}
	for i := range c.Probes {
		c.Probes[i].Name, c.Probes[i].Site = evil, evil
	}
	return r
}

// empty is a kernel in which nothing ran.
func empty() *model.Report {
	p := kernel()
	p.EndNS = 12_000 * ms
	return &model.Report{Schema: model.Schema, Host: host(), Processes: []model.Process{p}, Meters: exactMeters(),
		Certificate: model.Certificate{Complete: true, Finished: "interrupted"}}
}

// script is a program without IPython, with a child.
func script() *model.Report {
	r := empty()
	r.Processes[0].IPython, r.Processes[0].Frontend, r.Processes[0].Late = "", "", false
	r.Processes[0].Command = "python3 train.py"
	r.Processes = append(r.Processes, model.Process{PID: 4300, Parent: 4242, Command: "nvidia-smi", StartNS: ms, EndNS: 90 * ms, Ended: true,
		Meters: all(fig(0, 30*mib, 0), fig(0, 31*mib, 0), fig(0, 0, 0))})
	return r
}

// many has two kernels, a hundred cells, a hundred moving gaps and a cell of forty heavy lines.
func many() *model.Report {
	r := rich()
	second := kernel()
	second.PID = 5555
	r.Processes = append(r.Processes, second)
	for i := range 100 {
		w := cellWindow(100+i, 8+i, fmt.Sprintf("step(%d)", i))
		if i%2 == 1 {
			w.PID = 5555
		}
		at := 700*mib + int64(i)*kib
		w.Meters = all(fig(at, at+8*kib, at+kib), fig(at, at, at), fig(0, 0, 0))
		r.Windows = append(r.Windows, w)
		r.Between = append(r.Between, model.Between{PID: w.PID, After: 99 + i, Before: 100 + i, Label: fmt.Sprintf("between In[%d] and In[%d]", 7+i, 8+i),
			DurationNS: 5 * ms, Meters: all(fig(at, at+int64(i)*100*kib, at), fig(at, at, at), fig(0, 0, 0))})
	}
	for i := range 40 {
		at := gib + int64(i)*mib
		r.Windows = append(r.Windows, statementWindow(300+i, 16, i+1, all(fig(at, at+int64(i)*mib, at+mib), fig(at, at, at), fig(0, 0, 0))))
	}
	return r
}
