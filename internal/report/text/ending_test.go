package text_test

import (
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// dead returns a notebook with a kernel that the OOM killer ended in the second cell, and one with a worker that
// another process killed.
func dead() *model.Report {
	r := &model.Report{Schema: model.Schema, Between: []model.Between{}}
	limit := model.Limit{
		Kind: "cgroup", Path: "/docker/x\x1b[31m", Bytes: 600 * reporttest.MiB, Used: 590 * reporttest.MiB,
		Highest: 600 * reporttest.MiB,
	}
	r.Processes = []model.Process{{
		PID: 7, Command: "python3 -m ipykernel", IPython: "8.5", Python: "3.11.2", Ended: true,
		Meters: reporttest.All(reporttest.Fig(0, 500*reporttest.MiB, 0), reporttest.Fig(0, 600*reporttest.MiB, 0),
			reporttest.Fig(0, 0, 0)),
		Ending: &model.Ending{
			Signal: "SIGKILL", OutOfMemory: true, Limit: &limit, Window: 4,
			At: &model.Place{Execution: 2, ExecutionCount: 2, Line: 2}, Resident: 500 * reporttest.MiB,
			Mapped: 600 * reporttest.MiB,
		},
		Limits: []model.Limit{limit, {Kind: "machine", Bytes: 24 * reporttest.GiB, Used: 2 * reporttest.GiB}},
	},
		{
			PID: 9, Parent: 7, Command: "python3 worker.py", Ended: true, Ending: &model.Ending{Signal: "SIGSEGV"},
			Meters: map[string]model.Figure{},
		}}
	r.Meters = []model.Meter{{ID: "cpu.resident", Unit: "bytes", Exact: true}}
	figures := reporttest.All(reporttest.Fig(0, 500*reporttest.MiB, 500*reporttest.MiB),
		reporttest.Fig(0, 600*reporttest.MiB, 600*reporttest.MiB), reporttest.Fig(0, 0, 0))
	r.Windows = []model.Window{
		{ID: 1, Kind: model.Session, PID: 7, Status: model.OK, Meters: figures, Children: []model.Child{}},
		{
			ID: 2, Parent: 1, Kind: model.Cell, PID: 7, Execution: 1, ExecutionCount: reporttest.Number(1),
			Status: model.Error, Error: "numpy.core._exceptions._ArrayMemoryError", Source: "np.ones(1 << 40)",
			Meters: figures, Children: []model.Child{},
		},
		{
			ID: 3, Parent: 1, Kind: model.Cell, PID: 7, Execution: 2, ExecutionCount: reporttest.Number(2),
			Status: model.Incomplete, Source: "x = 1\ny = load()", Meters: figures, Children: []model.Child{},
		},
		{
			ID: 4, Parent: 3, Kind: model.Statement, PID: 7, Line: 2, Status: model.Incomplete, Meters: figures,
			Children: []model.Child{},
		},
	}
	return r
}

// TestWhyItEnded: the report begins with the reason for the kernel's end, and the limit that was used up.
func TestWhyItEnded(t *testing.T) {
	var b strings.Builder
	if err := text.Report(&b, dead(), text.Options{Width: 200}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"why it ended out of memory: the kernel's OOM killer ended pid 7 at 500.00 MiB resident, " +
			"in In[2] line 2: y = load()\n",
		"the limit    600.00 MiB of cgroup /docker/x", "of which 600.00 MiB were used\n",
		"no memory    _ArrayMemoryError in In[1]\n",
		"limits      600.00 MiB of cgroup /docker/x",
		"600.00 MiB at its highest · 24.00 GiB of the machine, 2.00 GiB used",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("not there: %q\n%s", want, b.String())
		}
	}
	if !strings.HasPrefix(b.String(), "why it ended out of memory") || strings.Contains(b.String(), "\x1b[31m") ||
		strings.Contains(b.String(), "SIGSEGV") {
		t.Errorf("\n%s", b.String())
	}
}

// TestShutDown: a kernel that got a request to end while no cell ran ended as kernels do; one that ended in a cell, or
// by another signal, did not.
func TestShutDown(t *testing.T) {
	for _, c := range []struct {
		signal, ipython string
		window          int
		want            bool
	}{
		{"SIGTERM", "8.5", 0, true}, {"SIGHUP", "8.5", 0, true}, {"SIGINT", "8.5", 0, true},
		{"SIGTERM", "8.5", 4, false}, {"SIGKILL", "8.5", 0, false}, {"SIGSEGV", "8.5", 0, false},
		{"SIGTERM", "", 0, false},
	} {
		r := dead()
		e := &model.Ending{Signal: c.signal, Window: c.window, Resident: 500 * reporttest.MiB}
		if c.window != 0 {
			e.At = &model.Place{Execution: 2, ExecutionCount: 2, Line: 2}
		}
		r.Processes[0].IPython, r.Processes[0].Ending = c.ipython, e
		var b strings.Builder
		if err := text.Report(&b, r, text.Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		quiet := !strings.Contains(b.String(), "why it ended")
		if said := strings.Contains(b.String(), "shut down by "+c.signal+" when no cell ran"); quiet != c.want ||
			said != c.want {
			t.Errorf("%+v:\n%s", c, b.String())
		}
	}
}

// TestLikelyLimit: where the kernel does not name the limit, the report does not either.
func TestLikelyLimit(t *testing.T) {
	r := dead()
	r.Processes[0].Ending.Likely = true
	r.Processes[1].Parent = 0
	var b strings.Builder
	if err := text.Report(&b, r, text.Options{Width: 200}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "the limit    most likely 600.00 MiB") ||
		!strings.Contains(b.String(), "SIGSEGV ended pid 9") {
		t.Errorf("\n%s", b.String())
	}
	r.Processes[0].Ending.Limit = nil
	b.Reset()
	if err := text.Report(&b, r, text.Options{Width: 200}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "the limit    not known") {
		t.Errorf("\n%s", b.String())
	}
}
