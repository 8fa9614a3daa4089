package reporttest

import (
	"fmt"
	"strings"

	"ipytracer/model"
)

// Inexact returns a session with a meter that has a bound, a meter that was paused, and losses.
func Inexact() *model.Report {
	report := Rich()
	bound := 64 * KiB
	for i := range report.Meters {
		switch report.Meters[i].ID {
		case "cpu.mapped":
			report.Meters[i].Exact, report.Meters[i].Bound, report.Meters[i].Source = false, &bound, "page faults only"
		case "cpu.numpy":
			report.Meters[i].Exact, report.Meters[i].Bound = false, nil
		case "cpu.resident.shmem":
			report.Meters[i] = model.Meter{ID: report.Meters[i].ID, Unit: "bytes", Bound: new(int64)}
		}
	}
	for i := range report.Windows {
		m := report.Windows[i].Meters
		m["cpu.mapped"], m["cpu.numpy"] = within(m["cpu.mapped"], bound), atLeast(m["cpu.numpy"])
	}
	delete(report.Windows[4].Meters, "cpu.numpy")
	report.Windows[6].Coverage["cpu.numpy"] = model.Coverage{
		AtPeak: 1000 * MiB, Rest: 88 * MiB, Sampled: 100 * MiB, SampledError: 5 * MiB / 2,
	}
	for i := range report.Windows[6].Allocations {
		report.Windows[6].Allocations[i].Sampled = i%2 == 1 && report.Windows[6].Allocations[i].Meter == "cpu.numpy"
	}
	for i := range report.Lines {
		report.Lines[i].Sampled = i%2 == 1 && report.Lines[i].Meter == "cpu.numpy"
	}
	c := &report.Certificate
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
	return report
}

// Hostile returns a session in which every text that the target can choose is [Evil].
func Hostile() *model.Report {
	report := Rich()
	report.Host.Name, report.Host.Kernel = Evil, Evil
	process := &report.Processes[0]
	process.Command, process.Python, process.IPython, process.Frontend = Evil+strings.Repeat("A", 1<<16), Evil, Evil,
		Evil
	for i := range report.Windows {
		window := &report.Windows[i]
		window.Name, window.Note = Evil, Evil
		window.Source = Evil + "\n" + window.Source
		for j := range window.Children {
			window.Children[j].Command = Evil
		}
		for _, a := range window.Allocations {
			for j := range a.Stack {
				a.Stack[j].Function, a.Stack[j].File = Evil, Evil
			}
		}
	}
	report.Windows[5].Source = strings.Repeat("漢字かな", 1<<15)
	report.Windows[6].Source = "=cmd|' /C calc'!A0\nx = \"\"\"\nget_ipython().system('ls')\n\"\"\""
	for i := range report.Between {
		report.Between[i].Label, report.Between[i].After = Evil, 0
	}
	c := &report.Certificate
	c.Finished, c.LateLibraries, c.Problems = Evil, []string{Evil}, []string{Evil, strings.Repeat("word ", 1000)}
	c.Attribution = model.Attribution{Incomplete: []string{Evil, strings.Repeat("word ", 1000)}}
	c.Lost = []model.Loss{{Reason: Evil, Count: 1}}
	for i := range c.Probes {
		c.Probes[i].Name, c.Probes[i].Site = Evil, Evil
	}
	return report
}

// Script returns a program without IPython, with a child.
func Script() *model.Report {
	report := Empty()
	report.Processes[0].IPython, report.Processes[0].Frontend, report.Processes[0].Late = "", "", false
	report.Processes[0].Command = "python3 train.py"
	report.Processes = append(report.Processes,
		model.Process{PID: 4300, Parent: 4242, Command: "nvidia-smi", StartNS: MS, EndNS: 90 * MS, Ended: true,
			Meters: All(Fig(0, 30*MiB, 0), Fig(0, 31*MiB, 0), Fig(0, 0, 0))})
	return report
}

// Many has two kernels, a hundred cells, a hundred moving gaps and a cell of forty heavy lines.
func Many() *model.Report {
	report := Rich()
	second := Kernel()
	second.PID = 5555
	report.Processes = append(report.Processes, second)
	for i := range 100 {
		window := CellWindow(100+i, 8+i, fmt.Sprintf("step(%d)", i))
		if i%2 == 1 {
			window.PID = 5555
		}
		at := 700*MiB + int64(i)*KiB
		window.Meters = All(Fig(at, at+8*KiB, at+KiB), Fig(at, at, at), Fig(0, 0, 0))
		report.Windows = append(report.Windows, window)
		report.Between = append(report.Between,
			model.Between{
				PID: window.PID, After: 99 + i, Before: 100 + i, Label: fmt.Sprintf("between In[%d] and In[%d]", 7+i,
					8+i),
				DurationNS: 5 * MS, Meters: All(Fig(at, at+int64(i)*100*KiB, at), Fig(at, at, at), Fig(0, 0, 0)),
			})
	}
	for i := range 40 {
		at := GiB + int64(i)*MiB
		report.Windows = append(report.Windows, StatementWindow(300+i, 16, i+1,
			All(Fig(at, at+int64(i)*MiB, at+MiB), Fig(at, at, at), Fig(0, 0, 0))))
	}
	nameKernels(report)
	return report
}

// Reports are the fixtures by name.
var Reports = map[string]func() *model.Report{
	"rich": Rich, "inexact": Inexact, "hostile": Hostile, "empty": Empty, "script": Script, "many": Many,
	"counted": Counted, "training": Training, "nothing": func() *model.Report { return &model.Report{} },
}

// Counted returns a session that counts: a cell with all counters, one without the processor's, and one without any.
func Counted() *model.Report {
	report := Empty()
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
		report.Windows = append(report.Windows, w)
	}
	return report
}
