package live_test

import (
	"fmt"
	"strings"
	"testing"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/live"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

func figure(start, peak, end int64) model.Figure {
	var zero int64
	return model.Figure{
		Start: start, Peak: peak, End: end, Consumed: end - start, Peaked: peak - max(start, end), Exact: true,
		Bound: &zero,
	}
}

const mib = 1 << 20

// glance returns a glance of a kernel in the middle of a cell with hostile text, names and commands.
func glance() *model.Glance {
	count := 7
	hostile := "\x1b[2J\u202egnp\u2066 日本語\n"
	cell := &model.Window{
		ID: 9, Kind: model.Cell, PID: 4242, ExecutionCount: &count, Execution: 5, Status: model.Incomplete,
		DurationNS: 12_400_000_000,
		Source:     "df = load('big')\n" + hostile,
		Meters:     map[string]model.Figure{"cpu.resident": figure(100*mib, 900*mib, 800*mib)},
		Children:   []model.Child{},
	}
	stack := func(line int) []model.Frame {
		return []model.Frame{
			{Function: "ones" + hostile, File: "/usr/lib/python3/dist-packages/numpy/core/numeric.py", Line: 204},
			{Function: "<module>", File: "<ipython-input-7>", Line: line, Execution: 5, ExecutionCount: &count},
		}
	}
	g := &model.Glance{
		Schema: model.GlanceSchema, ElapsedNS: 192_000_000_000, Cells: 7,
		Own: &model.OwnMemory{
			Resident: 64 * mib, Kernel: 70 * mib, Limit: 1 << 30, Left: 800 * mib,
			LimitBy: "memory.max of control group /a" + hostile,
		},
		GPUs: []model.GPU{{Index: 1, Memory: 16 << 30, Name: "NVIDIA T4" + hostile}},
		Lacks: model.Lacks{
			Reasons:     []string{"12 of 4,000 changes did not reach the tracer"},
			SteppedDown: []string{"cpu.numpy", "stacks"}, Made: 4000, Delivered: 3988,
		},
		Kernels: []model.Kernel{busyKernel(cell, hostile)},
	}
	g.Kernels[0].Cells, g.Kernels[0].CellsUnlisted = manyCells(hostile).Of(4242, 0)
	for i := range 30 {
		g.Kernels[0].Allocations = append(g.Kernels[0].Allocations, model.Allocation{
			Meter: []string{"cpu.numpy", "cpu.mapped", "gpu.1.active"}[i%3], Stack: stack(i + 1),
			Allocated: int64(90-i) * mib, Freed: int64(i) * mib, Net: int64(90-2*i) * mib,
			AtPeak: int64(i) * mib, Count: int64(100 * i),
		})
	}
	return g
}

// busyKernel returns a kernel in a cell, which has a child and large variables.
func busyKernel(cell *model.Window, hostile string) model.Kernel {
	zero := int64(0)
	return model.Kernel{
		PID: 4242, Command: "python -m ipykernel" + hostile, Python: "3.11.2", IPython: "8.5.0",
		Frontend: "ipykernel", Running: true, Cell: cell, Growth: "cell",
		Statement: &model.Window{Kind: model.Statement, Line: 3},
		Limit:     &model.Limit{Kind: "cgroup", Path: "/user.slice/" + hostile, Bytes: 1 << 30, Used: 850 * mib},
		Meters: map[string]model.Figure{
			"cpu.resident": figure(100*mib, 900*mib, 800*mib), "cpu.mapped": figure(1, 2<<30, 2<<30),
			"cpu.numpy": {End: 700 * mib, Peak: 800 * mib, Bound: &zero}, "gpu.1.driver": figure(0, 12<<30, 10<<30),
			"gpu.1.active": figure(0, 9<<30, 8<<30),
		},
		Coverage: map[string]model.Coverage{"cpu.numpy": {AtPeak: 700 * mib, Rest: 9 * mib}},
		Unlisted: 4, UnlistedNet: 3 * mib,
		Children: []model.Child{
			{
				PID: 4300, Command: "worker" + hostile,
				Meters: map[string]model.Figure{"cpu.resident": figure(0, 80*mib, 60*mib)},
			},
		},
		Variables: []model.Variable{
			{
				PID: 4242, Name: "df" + hostile, Kind: "variable", Type: "DataFrame", Shape: []int64{1000, 40},
				Bytes: 300 * mib, Exact: true,
			},
		},
		VariablesNS: 170_000_000_000,
		Names:       &model.Names{PID: 4242, Unlisted: 90, Bytes: 5 * mib},
	}
}

// manyCells returns the history of a kernel that has run thirty cells.
func manyCells(hostile string) *live.History {
	var past live.History
	for i := range 30 {
		n, need := i+1, int64(i*7%31)*10*mib
		w := model.Window{
			ID: 100 + i, Kind: model.Cell, PID: 4242, Execution: n, ExecutionCount: &n, Status: model.OK,
			DurationNS: int64(i) * 50_000_000, Source: fmt.Sprintf("step(%d)%s", i, hostile),
			Meters: map[string]model.Figure{
				"cpu.resident": figure(100*mib, 100*mib+need, 100*mib+need/2), "gpu.1.driver": figure(0, need*2, need),
			},
		}
		if i%9 == 8 {
			w.Status = model.Error
		}
		past.Add([]model.Window{w})
	}
	return &past
}

// check checks that a screen fits: the right number of rows, none too wide, and no character that a terminal acts on.
func check(t *testing.T, rows []live.Row, width, height int, ascii bool) string {
	t.Helper()
	if len(rows) != height {
		t.Errorf("%d rows of %d", len(rows), height)
	}
	var b strings.Builder
	for _, row := range rows {
		text := row.String()
		reporttest.CheckSafe(t, text, "")
		if n := escape.Cells(text); n > width {
			t.Errorf("%d cells of %d: %q", n, width, text)
		}
		for _, r := range text {
			if ascii && r > '~' {
				t.Errorf("%q in %q", r, text)
			}
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// TestScreens compares screens of several sizes with stored ones.
func TestScreens(t *testing.T) {
	quiet := glance()
	quiet.Lacks = model.Lacks{Made: 4000, Delivered: 4000}
	quiet.Kernels[0].Running, quiet.Kernels[0].Statement = false, nil
	quiet.Kernels[0].Cell.Status = model.Error
	full := glance() // its GPU is nearest to its limit
	full.Kernels[0].Meters["gpu.1.driver"] = figure(0, 15<<30, 15<<30)
	full.Kernels[0].Meters["gpu.0.driver"] = figure(0, 1<<30, 1<<30) // of unknown size
	full.Kernels[0].Cell.Meters["gpu.1.driver"] = figure(1<<30, 15<<30, 15<<30)
	for _, c := range []struct {
		name          string
		g             *model.Glance
		s             live.State
		width, height int
	}{
		{"lines-80x24", glance(), live.State{}, 80, 24},
		{"lines-120x40", glance(), live.State{}, 120, 40},
		{"gpu-120x40", full, live.State{}, 120, 40},
		{"least-40x10", glance(), live.State{}, 40, 10},
		{"tiny-20x5", glance(), live.State{}, 20, 5},
		{"ascii-80x24", quiet, live.State{ASCII: true}, 80, 24},
		{"variables-80x24", quiet, live.State{Tab: live.Variables}, 80, 24},
		{"children-80x24", glance(), live.State{Tab: live.Children, Frozen: true}, 80, 24},
		{"cells-80x24", quiet, live.State{Tab: live.Cells}, 80, 24},
		{"cells-heaviest-120x40", full, live.State{Tab: live.Cells, Sort: [4]int{live.Cells: 1}}, 120, 40},
		{"cells-ascii-60x16", glance(), live.State{Tab: live.Cells, ASCII: true, Offset: 3}, 60, 16},
		{"help-80x24", glance(), live.State{Help: true}, 80, 24},
		{"nothing-80x24", nil, live.State{}, 80, 24},
	} {
		got := check(t, live.Screen(c.g, &c.s, c.width, c.height), c.width, c.height, c.s.ASCII)
		reporttest.Golden(t, "top-"+c.name+".txt", []byte(got))
	}
}

// TestEverySize: there is no size at which a row is too wide or missing.
func TestEverySize(t *testing.T) {
	for width := 1; width <= 130; width += 3 {
		for height := 1; height < 40; height += 2 {
			for tab := range live.Tab(4) {
				check(t,
					live.Screen(glance(), &live.State{Tab: tab, ASCII: width%2 == 0, Offset: height}, width, height),
					width, height, width%2 == 0)
			}
		}
	}
}

// TestKeys presses keys, and compares the screen.
func TestKeys(t *testing.T) {
	g := glance()
	s := &live.State{}
	first := func() string { return live.Screen(g, s, 120, 40)[10].String() }
	press := func(keys ...string) (last live.Action) {
		for _, k := range keys {
			last = s.Press(k, g)
		}
		return last
	}
	if before := first(); press("s") != live.Nothing || first() == before || s.Sort[live.Lines] != 1 {
		t.Errorf("sorted by the next column: %s", first())
	}
	if press("S"); s.Sort[live.Lines] != 0 {
		t.Errorf("and back: %v", s.Sort)
	}
	if press("m", "m"); s.Meter == "" || strings.Contains(first(), "GPU") == strings.HasPrefix(s.Meter, "cpu") {
		t.Errorf("of one meter: %q, %s", s.Meter, first())
	}
	if press("down", "down"); s.Offset != 2 {
		t.Errorf("scrolled to %d", s.Offset)
	}
	if press("pgdn", "pgdn", "pgdn", "pgdn"); first() == "" || s.Offset > 10 {
		t.Errorf("scrolled beyond the end: %d", s.Offset)
	}
	if press(" "); !s.Frozen {
		t.Error("not frozen")
	}
	if press("0") != live.Mark || press("0") != live.Unmark || press("u") != live.FindVariables ||
		s.Tab != live.Variables {
		t.Error("marks and variables")
	}
	row := func() string { return live.Screen(g, s, 120, 40)[11].String() }
	if press("4"); s.Tab != live.Cells || !strings.HasPrefix(row(), "In[30]") {
		t.Errorf("cells: %s", row())
	}
	if press("s"); !strings.Contains(row(), "running") || !strings.Contains(row(), "800.00 MiB") {
		t.Errorf("the heaviest first: %s", row())
	}
	if press("down", "down"); s.Offset != 2 {
		t.Errorf("scrolled to %d", s.Offset)
	}
	if press("tab"); s.Tab != live.Lines {
		t.Error("behind the cells come lines")
	}
	if press("?"); !s.Help || press("q") != live.Quit {
		t.Error("help, and quit from there")
	}
	if press("x", "ctrl+z") != live.Nothing || s.Notice == "" || press("ctrl+c") != live.Quit {
		t.Error("control keys")
	}
	if s.Press("n", nil) != live.Nothing || s.Press("m", nil) != live.Nothing {
		t.Error("keys before anything is known")
	}
}

// TestScreenWithoutATerminal is the screen without a terminal: all tables, nothing cut.
func TestScreenWithoutATerminal(t *testing.T) {
	g := glance()
	g.Kernels = append(g.Kernels, g.Kernels[0])
	g.Kernels[1].PID, g.Kernels[1].Cell = 77, nil
	text := live.Text(g, &live.State{}, 0)
	if strings.Contains(text, "step(3)") {
		t.Errorf("cells that nobody asked for in\n%s", text)
	}
	if text := live.Text(g, &live.State{ListCells: true}, 0); !strings.Contains(text, "step(3)") ||
		!strings.Contains(text, "4 cells") {
		t.Errorf("no cells in\n%s", text)
	}
	for _, want := range []string{
		"pid 4242", "pid 77", "In[7]", "In[7] line 30", "df", "worker", "stepped down", "300.00 MiB",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		reporttest.CheckSafe(t, strings.TrimSuffix(line, "\n"), "")
	}
	if fmt.Sprint(live.Text(&model.Glance{}, &live.State{}, 0)) == "" {
		t.Error("nothing at all")
	}
}

// TestTextWraps: the screen without a terminal is not cut to a width; it goes on in the lines below.
func TestTextWraps(t *testing.T) {
	g := glance()
	long := "numpy.lib.a_type_with_a_name_that_no_column_has_room_for"
	g.Kernels[0].Variables[0].Type, g.Kernels[0].Variables[0].Name = long, strings.Repeat("名", 20)
	g.Kernels[0].Children[0].Command = strings.Repeat("python -m worker ", 10) + strings.Repeat("x", 200)
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for _, width := range []int{0, 60, 80, 120, 300} {
		text := live.Text(g, &live.State{}, width)
		for line := range strings.Lines(text) {
			if n := escape.Cells(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
				t.Errorf("%d cells at %d: %q", n, width, line)
			}
		}
		for _, want := range []string{g.Kernels[0].Variables[0].Name, g.Kernels[0].Children[0].Command} {
			if !strings.Contains(squeeze(text), squeeze(want)) {
				t.Errorf("at %d: no %q in\n%s", width, want, text)
			}
		}
		if (width == 0 || width == 300) && !strings.Contains(text, long) {
			t.Errorf("at %d: no %s in\n%s", width, long, text)
		}
	}
}

// TestHistory: the history has the newest cells, and of the older ones the heaviest, regardless of later ones.
func TestHistory(t *testing.T) {
	var h live.History
	for i := range 3000 {
		need := int64(i % 10)
		if i == 5 || i == 1500 {
			need = 1000
		}
		h.Add([]model.Window{
			{
				ID: i + 1, PID: 7, Source: strings.Repeat("x", 1000),
				Meters: map[string]model.Figure{"cpu.resident": figure(0, need, 0)},
			},
		})
	}
	all, more := h.Of(7, 0)
	if all[0].ID != 3000 || all[399].ID != 2601 || len(all)+more != 3000 || len(all) < 402 || len(all) > 500 {
		t.Fatalf("%d cells and %d more, from %d on", len(all), more, all[0].ID)
	}
	heavy := 0
	for i := range all {
		if i > 0 && all[i].ID >= all[i-1].ID {
			t.Fatalf("%d behind %d", all[i].ID, all[i-1].ID)
		}
		if all[i].ID == 6 || all[i].ID == 1501 {
			heavy++
		}
		if len(all[i].Source) > 400 || !all[i].SourceTruncated {
			t.Fatalf("%d bytes of source", len(all[i].Source))
		}
	}
	if heavy != 2 {
		t.Errorf("%d of the heaviest", heavy)
	}
	if few, more := h.Of(7, 3); len(few) != 3 || more != 2997 || few[0].ID != 3000 {
		t.Errorf("%d cells and %d more", len(few), more)
	}
	if none, more := h.Of(8, 0); len(none) != 0 || more != 0 {
		t.Errorf("%d cells of another process", len(none))
	}
}

// TestKernelsByName: with several kernels, the top of the screen names the kernel of the running cell.
func TestKernelsByName(t *testing.T) {
	g := glance()
	g.Kernels[0].Cell.Kernel = "train.ipynb"
	for _, tab := range []live.Tab{live.Lines, live.Cells} {
		got := check(t, live.Screen(g, &live.State{Tab: tab}, 120, 40), 120, 40, false)
		if !strings.Contains(got, "In[7] of train.ipynb ") {
			t.Errorf("tab %d: whose is the cell?\n%s", tab, got)
		}
	}
}
