package reporttest

import "ipytracer/model"

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

// within returns a figure that can be off by bound.
func within(f model.Figure, bound int64) model.Figure {
	f.Exact, f.Bound = false, &bound
	return f
}

// atLeast returns a figure that is a lower bound.
func atLeast(f model.Figure) model.Figure {
	f.Exact, f.Bound = false, nil
	return f
}

// All returns the figures of a window: those of three meters, and of the parts of resident memory, which is anonymous.
func All(resident, mapped, numpy model.Figure) map[string]model.Figure {
	return map[string]model.Figure{
		"cpu.resident": resident, "cpu.mapped": mapped, "cpu.numpy": numpy,
		"cpu.resident.anon": resident, "cpu.resident.file": Fig(0, 0, 0), "cpu.resident.shmem": Fig(0, 0, 0),
	}
}

// Number returns a pointer to n.
func Number(n int) *int { return &n }

// exactMeters returns the meters of [All], all of them exact.
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
		text := source[id]
		if text == "" {
			text = source["cpu.resident"]
		}
		meters = append(meters, model.Meter{ID: id, Unit: "bytes", Source: text, Exact: true, Bound: &zero})
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

// CellWindow returns a cell that ended well, without figures. Its In[N] is execution.
func CellWindow(id, execution int, source string) model.Window {
	return model.Window{
		ID: id, Parent: 1, Kind: model.Cell, PID: 4242, Execution: execution, ExecutionCount: Number(execution),
		Source: source, Status: model.OK, StartNS: int64(execution) * 1000 * MS, DurationNS: 180 * MS, CPUNS: 170 * MS,
	}
}

// StatementWindow returns the statement on a line of the cell parent.
func StatementWindow(id, parent, line int, m map[string]model.Figure) model.Window {
	return model.Window{ID: id, Parent: parent, Kind: model.Statement, PID: 4242, Line: line, Status: model.OK,
		StartNS: int64(id) * MS, DurationNS: 5 * MS, CPUNS: -1, Meters: m}
}

// Empty returns the report of a kernel in which nothing ran.
func Empty() *model.Report {
	process := Kernel()
	process.EndNS = 12_000 * MS
	return &model.Report{Schema: model.Schema, Host: host(), Processes: []model.Process{process}, Meters: exactMeters(),
		Certificate: model.Certificate{
			Complete: true, Attribution: model.Attribution{Complete: true}, Finished: "interrupted",
		}}
}

// Evil is a text that a terminal could act on.
const Evil = "\x1b[31mred\x1b[0m \x1b]0;title\x07\x00\u202egnp.exe\u2066\u200b\u009b2J\xff\xfe\r\n" +
	"next\ttab 日本語 e\u0301\u0301\u0301\u0301\u0301\u0301\u0301"
