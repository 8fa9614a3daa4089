package reporttest

import (
	"fmt"
	"strings"

	"ipytracer/model"
)

// Sizes in bytes, and a millisecond in nanoseconds.
const (
	KiB = int64(1) << 10
	MiB = int64(1) << 20
	GiB = int64(1) << 30
	MS  = int64(1e6)
)

// Fig returns an exact figure.
func Fig(start, peak, end int64) model.Figure {
	zero := int64(0)
	return model.Figure{
		Start: start, Peak: peak, End: end, Consumed: end - start, Peaked: peak - max(start, end), Exact: true,
		Bound: &zero,
	}
}

func within(f model.Figure, bound int64) model.Figure {
	f.Exact, f.Bound = false, &bound
	return f
}

func atLeast(f model.Figure) model.Figure {
	f.Exact, f.Bound = false, nil
	return f
}

// All returns plausible figures for the three meters and the parts of resident.
func All(resident, mapped, numpy model.Figure) map[string]model.Figure {
	return map[string]model.Figure{
		"cpu.resident": resident, "cpu.mapped": mapped, "cpu.numpy": numpy,
		"cpu.resident.anon": resident, "cpu.resident.file": Fig(0, 0, 0), "cpu.resident.shmem": Fig(0, 0, 0),
	}
}

// Number returns a pointer to one.
func Number(n int) *int { return &n }

func exactMeters() []model.Meter {
	zero := int64(0)
	source := map[string]string{
		"cpu.mapped":   "tp_btf/sys_exit of mmap, munmap, mremap, brk, mprotect; mm->data_vm",
		"cpu.resident": "tp_btf/rss_stat, per-CPU counters summed",
		"cpu.numpy":    "uprobes on PyTraceMalloc_Track and PyTraceMalloc_Untrack",
	}
	var meters []model.Meter
	for _, id := range []string{
		"cpu.mapped", "cpu.resident", "cpu.resident.anon", "cpu.resident.file", "cpu.resident.shmem", "cpu.numpy",
	} {
		s := source[id]
		if s == "" {
			s = source["cpu.resident"]
		}
		meters = append(meters, model.Meter{ID: id, Unit: "bytes", Source: s, Exact: true, Bound: &zero})
	}
	return meters
}

func host() model.Host {
	return model.Host{
		Name: "devbox", Kernel: "6.18.44", CPUs: 2, Memory: 23 * GiB, Tracer: "0.1.0",
		Started: "2026-03-02T09:14:05.123456789Z",
	}
}

// Kernel returns a process that runs a notebook.
func Kernel() model.Process {
	return model.Process{
		PID: 4242, Command: "/usr/bin/python3 -m ipykernel_launcher -f /run/user/1000/jupyter/kernel-1.json",
		Python: "3.11.2", IPython: "8.5.0", Frontend: "ipykernel", EndNS: 185_400 * MS, Late: true,
		Meters: All(Fig(68*MiB, 3*GiB, 1200*MiB), Fig(90*MiB, 3*GiB+40*MiB, 1300*MiB), Fig(0, 2*GiB, 1*GiB)),
	}
}

// CellWindow returns a cell that succeeded, without figures.
func CellWindow(id, execution int, source string) model.Window {
	return model.Window{
		ID: id, Parent: 1, Kind: model.Cell, PID: 4242, Execution: execution, ExecutionCount: Number(execution),
		Source: source, Status: model.OK, StartNS: int64(execution) * 1000 * MS, DurationNS: 180 * MS, CPUNS: 170 * MS,
	}
}

// StatementWindow returns a line of a cell.
func StatementWindow(id, parent, line int, m map[string]model.Figure) model.Window {
	return model.Window{ID: id, Parent: parent, Kind: model.Statement, PID: 4242, Line: line, Status: model.OK,
		StartNS: int64(id) * MS, DurationNS: 5 * MS, CPUNS: -1, Meters: m}
}

// Inexact has a bounded meter, a shed one, and a stream with losses.
func Inexact() *model.Report {
	r := Rich()
	bound := 64 * KiB
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
	r.Windows[6].Coverage["cpu.numpy"] = model.Coverage{AtPeak: 1000 * MiB, Rest: 88 * MiB, Sampled: 100 * MiB}
	for i := range r.Windows[6].Allocations {
		r.Windows[6].Allocations[i].Sampled = i%2 == 1 && r.Windows[6].Allocations[i].Meter == "cpu.numpy"
	}
	for i := range r.Lines {
		r.Lines[i].Sampled = i%2 == 1 && r.Lines[i].Meter == "cpu.numpy"
	}
	c := &r.Certificate
	c.Complete, c.Delivered = false, c.Made-48
	c.Incomplete = []string{
		"48 of 1,234,567 changes did not reach this report: peaks stand, the kernel itself keeps them; " +
			"part of their proof is missing, and of who allocated",
		"numpy was not counted at times, to keep the overhead budget (--budget off counts all)",
		"beginnings and ends of experiments refused: too many at a time (15,789)",
	}
	c.Attribution = model.Attribution{
		Incomplete: []string{
			"native frames not known in time (44)", "who allocated is not known at times, or only from samples: " +
				"stacks were stepped down to keep the overhead budget",
		},
	}
	c.Lost = []model.Loss{
		{Reason: "event ring full", Count: 40}, {Reason: "numpy shed", Count: 8}, {Reason: "never", Count: 0},
	}
	c.BoundariesLost = 1
	c.Meters[0].Agreed, c.Meters[0].Difference = 26, 12*KiB
	c.Meters[5] = model.Proof{ID: "cpu.numpy", Compared: 20, Agreed: 20, Skipped: 8, Paused: true}
	c.Problems = []string{
		"window refused: 33 experiments are open at once and the limit is 32; the last one was not measured, " +
			"end one of them first",
	}
	return r
}

// Evil is a text that a terminal could act on.
const Evil = "\x1b[31mred\x1b[0m \x1b]0;title\x07\x00\u202egnp.exe\u2066\u200b\u009b2J\xff\xfe\r\n" +
	"next\ttab 日本語 e\u0301\u0301\u0301\u0301\u0301\u0301\u0301"

// Hostile has every string the target can choose set against the terminal.
func Hostile() *model.Report {
	r := Rich()
	r.Host.Name, r.Host.Kernel = Evil, Evil
	p := &r.Processes[0]
	p.Command, p.Python, p.IPython, p.Frontend = Evil+strings.Repeat("A", 1<<16), Evil, Evil, Evil
	for i := range r.Windows {
		w := &r.Windows[i]
		w.Name, w.Note = Evil, Evil
		w.Source = Evil + "\n" + w.Source
		for j := range w.Children {
			w.Children[j].Command = Evil
		}
		for _, a := range w.Allocations {
			for j := range a.Stack {
				a.Stack[j].Function, a.Stack[j].File = Evil, Evil
			}
		}
	}
	r.Windows[5].Source = strings.Repeat("漢字かな", 1<<15)
	r.Windows[6].Source = "=cmd|' /C calc'!A0\nx = \"\"\"\nget_ipython().system('ls')\n\"\"\""
	for i := range r.Between {
		r.Between[i].Label, r.Between[i].After = Evil, 0
	}
	c := &r.Certificate
	c.Finished, c.LateLibraries, c.Problems = Evil, []string{Evil}, []string{Evil, strings.Repeat("word ", 1000)}
	c.Attribution = model.Attribution{Incomplete: []string{Evil, strings.Repeat("word ", 1000)}}
	c.Lost = []model.Loss{{Reason: Evil, Count: 1}}
	for i := range c.Probes {
		c.Probes[i].Name, c.Probes[i].Site = Evil, Evil
	}
	return r
}

// Empty returns a kernel in which nothing ran.
func Empty() *model.Report {
	p := Kernel()
	p.EndNS = 12_000 * MS
	return &model.Report{Schema: model.Schema, Host: host(), Processes: []model.Process{p}, Meters: exactMeters(),
		Certificate: model.Certificate{
			Complete: true, Attribution: model.Attribution{Complete: true}, Finished: "interrupted",
		}}
}

// Script returns a program without IPython, with a child.
func Script() *model.Report {
	r := Empty()
	r.Processes[0].IPython, r.Processes[0].Frontend, r.Processes[0].Late = "", "", false
	r.Processes[0].Command = "python3 train.py"
	r.Processes = append(r.Processes,
		model.Process{PID: 4300, Parent: 4242, Command: "nvidia-smi", StartNS: MS, EndNS: 90 * MS, Ended: true,
			Meters: All(Fig(0, 30*MiB, 0), Fig(0, 31*MiB, 0), Fig(0, 0, 0))})
	return r
}

// Many has two kernels, a hundred cells, a hundred moving gaps and a cell of forty heavy lines.
func Many() *model.Report {
	r := Rich()
	second := Kernel()
	second.PID = 5555
	r.Processes = append(r.Processes, second)
	for i := range 100 {
		w := CellWindow(100+i, 8+i, fmt.Sprintf("step(%d)", i))
		if i%2 == 1 {
			w.PID = 5555
		}
		at := 700*MiB + int64(i)*KiB
		w.Meters = All(Fig(at, at+8*KiB, at+KiB), Fig(at, at, at), Fig(0, 0, 0))
		r.Windows = append(r.Windows, w)
		r.Between = append(r.Between,
			model.Between{
				PID: w.PID, After: 99 + i, Before: 100 + i, Label: fmt.Sprintf("between In[%d] and In[%d]", 7+i, 8+i),
				DurationNS: 5 * MS, Meters: All(Fig(at, at+int64(i)*100*KiB, at), Fig(at, at, at), Fig(0, 0, 0)),
			})
	}
	for i := range 40 {
		at := GiB + int64(i)*MiB
		r.Windows = append(r.Windows, StatementWindow(300+i, 16, i+1,
			All(Fig(at, at+int64(i)*MiB, at+MiB), Fig(at, at, at), Fig(0, 0, 0))))
	}
	nameKernels(r)
	return r
}

// Reports are the fixtures by name.
var Reports = map[string]func() *model.Report{
	"rich": Rich, "inexact": Inexact, "hostile": Hostile, "empty": Empty, "script": Script, "many": Many,
	"counted": Counted, "training": Training, "nothing": func() *model.Report { return &model.Report{} },
}

// Counted returns a session that counts: a cell with all counters, one without the processor's, and one without any.
func Counted() *model.Report {
	r := Empty()
	for i, c := range []*model.Counters{
		{
			MinorFaults: 65_540, MajorFaults: 3, Waits: 12, Preemptions: 1, Instructions: 3_000_000_000,
			Cycles: 2_000_000_000, CacheReferences: 1_000_000, CacheMisses: 25_000,
		},
		{
			MinorFaults: 0, MajorFaults: 0, Waits: 1, Preemptions: 0, Instructions: -1, Cycles: -1, CacheReferences: -1,
			CacheMisses: -1,
		},
		nil,
	} {
		w := CellWindow(2+i, 1+i, "work()")
		w.Meters = All(Fig(100*MiB, 120*MiB, 110*MiB), Fig(GiB, GiB, GiB), Fig(0, 0, 0))
		w.Counters = c
		r.Windows = append(r.Windows, w)
	}
	return r
}
