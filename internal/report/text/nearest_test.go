package text_test

import (
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

// falling has each entry of a report say that resident memory falls by what it lets go of.
func falling(r *model.Report) *model.Report {
	for i := range r.ToFree {
		r.ToFree[i].Resident = &r.ToFree[i].Predicted
	}
	return r
}

// lines returns the first lines of a report, by their names.
func lines(t *testing.T, r *model.Report, o text.Options) map[string]string {
	t.Helper()
	o.Width = -1
	of := map[string]string{}
	for line := range strings.SplitSeq(printed(t, r, o), "\n") {
		if line == "" {
			break
		}
		of[strings.TrimSpace(line[:13])] = line[13:]
	}
	return of
}

// TestLeadsWithTheNearest: the first lines are about the memory that came nearest to its limit, and about no other.
func TestLeadsWithTheNearest(t *testing.T) {
	r := reporttest.Training()
	numpy := model.Allocation{
		Meter: "cpu.numpy", Stack: r.Windows[2].Allocations[1].Stack, Allocated: 70 * reporttest.GiB,
		AtPeak: 70 * reporttest.GiB, Count: 1,
	}
	r.Windows[2].Allocations = append([]model.Allocation{numpy}, r.Windows[2].Allocations...)
	got := lines(t, r, text.Options{})
	for name, want := range map[string]string{
		"highest": "78.55 of 79.65 GiB of GPU 0 (98 %), where 20.00 MiB more were refused, in In[2], line 2: " +
			"for x, y in batches:",
		"also":    "2.57 of 125.88 GiB resident (2 %) in In[1]",
		"nearest": "",
		"made by": "58.00 GiB GPU 0 active In[2] line 3 › net.py line 9 step · up to 18.55 GiB PyTorch's cache · " +
			"2.00 GiB GPU 0 active In[1] line 2",
		"still there": "40.00 GiB after the last cell: model 2.00 GiB · 10.00 GiB PyTorch's cache · " +
			"28.00 GiB not explained",
		"to free it": "del model (2.00 GiB)",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	out := printed(t, reporttest.Training(), text.Options{})
	if !strings.Contains(out, "GPU 0       NVIDIA H100 80GB HBM3, 79.65 GiB · 78.55 GiB at its highest\n") ||
		strings.Contains(out, "GPU 1") {
		t.Errorf("the header has not the GPU that was used, or another:\n%s", out)
	}
	if strings.Index(out, "\nIn[2] ") > strings.Index(out, "\nIn[1] ") ||
		!strings.Contains(out, "GPU 0 driver memory, need") {
		t.Errorf("not ranked by what the GPU gave out:\n%s", out)
	}
}

// TestRanksByWhatWasAsked: --by overrides the default, and the report still names the meters near their limit.
func TestRanksByWhatWasAsked(t *testing.T) {
	got := lines(t, reporttest.Training(), text.Options{By: "cpu.resident"})
	if !strings.HasPrefix(got["highest"], "2.57 of 125.88 GiB resident (2 %) in In[1]") ||
		!strings.HasPrefix(got["also"], "78.55 of 79.65 GiB of GPU 0 (98 %)") || got["nearest"] != "" {
		t.Errorf("highest %q, also %q, nearest %q", got["highest"], got["also"], got["nearest"])
	}
}

// TestCacheIsNoPartOfActive: the cache of PyTorch's allocator is in reserved memory and in memory from the driver.
// Active memory has none of it, whether the user or the report chose that meter.
func TestCacheIsNoPartOfActive(t *testing.T) {
	const cached = "40.00 GiB after the last cell: model 2.00 GiB · 10.00 GiB PyTorch's cache · 28.00 GiB not explained"
	for meter, want := range map[string]string{
		"gpu.0.active":   "30.00 GiB after the last cell: model 2.00 GiB · 28.00 GiB not explained",
		"gpu.0.reserved": cached,
		"gpu.0.driver":   cached,
	} {
		if got := lines(t, reporttest.Training(), text.Options{By: meter})["still there"]; got != want {
			t.Errorf("%s: %q, want %q", meter, got, want)
		}
	}
	r := reporttest.Training()
	reporttest.EachFigure(r, "gpu.0.driver", reporttest.Off(91*reporttest.GiB))
	if got := lines(t, r, text.Options{}); !strings.Contains(got["highest"], "GPU 0 active") ||
		strings.Contains(got["still there"], "cache") {
		t.Errorf("chosen by the report: %q", got)
	}
}

// TestNamesOfSeveralGPUs: the memory of a name has no GPU in it, so if the session used two, no name stands under one
// of them.
func TestNamesOfSeveralGPUs(t *testing.T) {
	r := reporttest.Training()
	r.Lines = []model.Line{{PID: 4242, Meter: "gpu.0.active", Left: 3 * reporttest.GiB,
		Frame: model.Frame{
			Function: "<module>", File: "/tmp/ipykernel_4242/1.py", Line: 2, Execution: 1,
			ExecutionCount: reporttest.Number(1),
		}}}
	one := lines(t, r, text.Options{})
	if one["to free it"] != "del model (2.00 GiB) · tracer audit --full says what holds 3.00 GiB of In[1] line 2" {
		t.Errorf("of one GPU: %q", one)
	}
	for i := range r.Windows {
		if w := &r.Windows[i]; w.Kind == model.Session {
			w.Meters["gpu.1.active"] = reporttest.Fig(0, 0, 0)
		}
	}
	if got := lines(t, r, text.Options{}); got["to free it"] != one["to free it"] {
		t.Errorf("of a second GPU that nobody used: %q", got)
	}
	reporttest.EachFigure(r, "gpu.1.active", func(model.Figure) model.Figure {
		return reporttest.Fig(0, 20*reporttest.GiB, 20*reporttest.GiB)
	})
	got := lines(t, r, text.Options{})
	want := "40.00 GiB after the last cell: 3.00 GiB GPU 0 active of In[1] line 2 · 10.00 GiB PyTorch's cache · " +
		"27.00 GiB not explained"
	if got["still there"] != want {
		t.Errorf("still there: %q, want %q", got["still there"], want)
	}
	want = "which GPU a name's memory is on is not known; tracer audit --full says what holds it: " +
		"the lines that made it assign model (3.00 GiB)"
	if got["to free it"] != want {
		t.Errorf("to free it: %q, want %q", got["to free it"], want)
	}
	got = lines(t, falling(r), text.Options{By: "cpu.resident"})
	const names = "del model (1.00 MiB) · del df (100.00 MiB) → leaves 1.27 GiB"
	if got["to free it"] != names &&
		got["to free it"] != names+" · tracer audit --full says what holds 3.00 GiB of In[1] line 2" {
		t.Errorf("memory of the CPU has names still: %q", got)
	}
}

// TestNearestThatDoesNotRank: a session that used a GPU ranks by it. Memory that came nearer to its limit, but to no
// more than half of it, stands in front.
func TestNearestThatDoesNotRank(t *testing.T) {
	r := falling(reporttest.Training())
	r.Host.Memory = 6 * reporttest.GiB
	r.GPUs[0].Memory = 800 * reporttest.GiB
	r.Windows[0].Refused = nil
	out := printed(t, r, text.Options{})
	const want = "nearest      2.57 of 6.00 GiB resident (42 %) in In[1]\n" +
		"highest      78.55 of 800.00 GiB of GPU 0 (9 %) in In[2]"
	if !strings.HasPrefix(out[strings.Index(out, "nearest"):], want) {
		t.Errorf("got\n%s", out[:500])
	}
	r.Host.Memory = 5 * reporttest.GiB
	got := lines(t, r, text.Options{})
	if !strings.HasPrefix(got["highest"], "2.57 of 5.00 GiB resident (51 %) in In[1]") ||
		got["also"] != "78.55 of 800.00 GiB of GPU 0 (9 %) in In[2]" ||
		!strings.HasSuffix(got["to free it"], "del model (1.00 MiB) · del df (100.00 MiB) → leaves 1.27 GiB") {
		t.Errorf("more than half of the memory was used: %q", got)
	}
}

// TestNoLimitKnown: a GPU of unknown size leads without a share.
func TestNoLimitKnown(t *testing.T) {
	r := reporttest.Training()
	r.GPUs, r.Windows[0].Refused = nil, nil
	got := lines(t, r, text.Options{})
	if !strings.HasPrefix(got["highest"], "78.55 GiB of GPU 0 in In[2]") || got["nearest"] != "" ||
		got["also"] != "2.57 of 125.88 GiB resident (2 %) in In[1]" {
		t.Errorf("highest %q, also %q", got["highest"], got["also"])
	}
	if out := printed(t, r, text.Options{}); !strings.Contains(out, "GPU 0       78.55 GiB at its highest\n") {
		t.Errorf("the header of a GPU without a name:\n%s", out)
	}
	r.Host.Memory = 0
	got = lines(t, r, text.Options{By: "cpu.resident"})
	if !strings.HasPrefix(got["highest"], "2.57 GiB resident in In[1]") {
		t.Errorf("of a machine whose memory is not known: %q", got["highest"])
	}
}

// TestNoBoundAboveItsFigure: a figure with a bound above itself says so in words, and only the full report has the
// number.
func TestNoBoundAboveItsFigure(t *testing.T) {
	r := reporttest.Training()
	reporttest.EachFigure(r, "gpu.0.driver", reporttest.Off(91*reporttest.GiB))
	reporttest.EachFigure(r, "gpu.0.active", reporttest.Off(3*reporttest.KiB))
	bound := 91 * reporttest.GiB
	for i := range r.Meters {
		if r.Meters[i].ID == "gpu.0.driver" {
			r.Meters[i].Exact, r.Meters[i].Bound = false, &bound
		}
	}
	out := printed(t, r, text.Options{Width: -1})
	if strings.Contains(out, "91.00 GiB") ||
		!strings.Contains(out, "how sure     not of all: the highest moment is not known to within its own size") ||
		!strings.Contains(out, "not known to within its own size (GPU 0 driver)") {
		t.Errorf("a bound that is larger than its figure:\n%s", out)
	}
	if !strings.Contains(out, "GPU 0 active by at most 3.00 KiB") {
		t.Errorf("a bound that is not:\n%s", out)
	}
	out = printed(t, r, text.Options{Width: -1, Full: true})
	if !strings.Contains(out, "GPU 0 driver by at most 91.00 GiB") {
		t.Errorf("the full report leaves the bound out:\n%s", out)
	}
	reporttest.EachFigure(r, "gpu.0.active", reporttest.Off(0))
	reporttest.EachFigure(r, "gpu.0.active", func(f model.Figure) model.Figure { f.Exact = true; return f })
	if got := lines(t, r, text.Options{}); !strings.HasPrefix(got["highest"], "60.00 GiB GPU 0 active in In[2]") {
		t.Errorf("tensors are known, what the driver gave out is not: %q", got["highest"])
	}
}

// TestSeveralGPUs: with several GPUs, the report has the name, the size and the share of each.
func TestSeveralGPUs(t *testing.T) {
	r := reporttest.Training()
	for i := range r.Windows {
		if w := &r.Windows[i]; w.Kind == model.Session || w.ID == 12 {
			w.Meters["gpu.1.driver"] = reporttest.Fig(0, 79*reporttest.GiB, 0)
		}
	}
	out := printed(t, r, text.Options{Width: -1})
	for _, want := range []string{
		"\nhighest      78.55 of 79.65 GiB of GPU 0 (98 %), where 20.00 MiB more were refused, in In[2]",
		"\nalso         79.00 of 79.65 GiB of GPU 1 (99 %) in In[3] · 2.57 of 125.88 GiB resident (2 %) in In[1]\n",
		"\nGPU 0       NVIDIA H100 80GB HBM3, 79.65 GiB · 78.55 GiB at its highest\n",
		"\nGPU 1       NVIDIA H100 80GB HBM3, 79.65 GiB · 79.00 GiB at its highest\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	r.Windows[0].Refused = nil
	got := lines(t, r, text.Options{})
	if !strings.HasPrefix(got["highest"], "79.00 of 79.65 GiB of GPU 1 (99 %) in In[3]") ||
		!strings.HasPrefix(got["also"], "78.55 of 79.65 GiB of GPU 0 (98 %) in In[2]") {
		t.Errorf("highest %q, also %q", got["highest"], got["also"])
	}
}

// TestHostileDevices: a name from the driver is shown, and the terminal does not act on it.
func TestHostileDevices(t *testing.T) {
	r := reporttest.Training()
	for i := range r.GPUs {
		g := &r.GPUs[i]
		g.Name, g.UUID, g.PCIBusID = reporttest.Evil+strings.Repeat("A", 1<<16), reporttest.Evil, reporttest.Evil
	}
	for _, o := range []text.Options{{}, {Full: true}} {
		out := printed(t, r, o)
		reporttest.CheckSafe(t, out, "\n")
		if !strings.Contains(out, `\x1b[31mred`) {
			t.Errorf("the name is gone:\n%s", out)
		}
	}
	for _, device := range text.Devices(r) {
		reporttest.CheckSafe(t, device, "")
		if len(device) > 400 {
			t.Errorf("%d bytes of a name", len(device))
		}
	}
}

// TestKilledRanksByResident: if the OOM killer ended the kernel, resident memory ran out, whatever a GPU had.
func TestKilledRanksByResident(t *testing.T) {
	r := reporttest.Training()
	r.Processes[0].Ending = &model.Ending{Signal: "SIGKILL", OutOfMemory: true}
	if got := lines(t, r, text.Options{}); !strings.HasPrefix(got["highest"], "2.57 of 125.88 GiB resident") {
		t.Errorf("highest %q", got["highest"])
	}
}
