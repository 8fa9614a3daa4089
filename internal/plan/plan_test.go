package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"ipytracer/internal/plan"
	"ipytracer/internal/words"
	"ipytracer/model"
)

const mib = int64(1) << 20

func exact(start, peak, end int64) model.Figure {
	zero := int64(0)
	return model.Figure{Start: start * mib, Peak: peak * mib, End: end * mib, Consumed: (end - start) * mib,
		Peaked: (peak - max(start, end)) * mib, Exact: true, Bound: &zero}
}

func resident(f model.Figure) map[string]model.Figure {
	return map[string]model.Figure{"cpu.resident": f}
}

// notebook returns a report of some windows, the session's peak first, in MiB.
func notebook(peak int64, windows ...model.Window) *model.Report {
	r := &model.Report{Processes: []model.Process{{PID: 7, Command: "ipykernel", Python: "3.11"}},
		Meters: []model.Meter{{ID: "cpu.resident"}, {ID: "cpu.mapped"}, {ID: "cpu.numpy"}},
		Certificate: model.Certificate{Complete: true, Attribution: model.Attribution{Complete: true},
			Finished: "the target ended"}}
	r.Windows = append(r.Windows, model.Window{ID: 1, Kind: model.Session, PID: 7, Status: model.OK,
		Meters: resident(exact(100, peak, 100))})
	r.Windows = append(r.Windows, windows...)
	return r
}

// cell returns a cell of some lines, followed by a statement for each.
func cell(execution int, source string, f model.Figure, statements ...model.Figure) (all []model.Window) {
	count := execution
	w := model.Window{ID: 100 * execution, Parent: 1, Kind: model.Cell, PID: 7, Execution: execution,
		ExecutionCount: &count, Source: source, Status: model.OK, Meters: resident(f)}
	all = append(all, w)
	for i, s := range statements {
		all = append(all, model.Window{ID: w.ID + i + 1, Parent: w.ID, Kind: model.Statement, PID: 7, Line: i + 1,
			Status: model.OK, Meters: resident(s)})
	}
	return all
}

// by returns the allocation of a line at the peak of a meter, in MiB.
func by(meter string, execution, line int, bytes int64, library ...string) model.Allocation {
	count := execution
	a := model.Allocation{Meter: meter, AtPeak: bytes * mib}
	for _, l := range library {
		a.Stack = append(a.Stack, model.Frame{Function: l, File: "/usr/lib/python3/dist-packages/sklearn/x.py",
			Line: 5})
	}
	a.Stack = append(a.Stack, model.Frame{Function: "<module>", File: "/tmp/1.py", Line: line, Execution: execution,
		ExecutionCount: &count})
	return a
}

func join(all ...[]model.Window) (out []model.Window) {
	for _, one := range all {
		out = append(out, one...)
	}
	return out
}

func make1(r *model.Report) (*model.Plan, *model.Demand) {
	p := plan.Make([]*plan.Run{plan.Read("run.arrows", r)})
	return p, &p.Demands[0]
}

// TestWhatDecides checks that the line decides that rose most of those near the peak, not the one after it that went a
// little higher.
func TestWhatDecides(t *testing.T) {
	_, d := make1(notebook(505, join(
		cell(1, "import numpy", exact(100, 150, 150)),
		cell(2, "import x\nr = permutation_importance(model)\nplt.show()", exact(150, 505, 460), exact(150, 151, 151),
			exact(151, 500, 450), exact(450, 505, 460)),
		cell(3, "y = 1", exact(460, 470, 470)))...))
	if d.At == nil || d.At.Execution != 2 || d.At.Line != 2 || d.At.Source != "r = permutation_importance(model)" ||
		d.Next.Execution != 3 {
		t.Errorf("at %+v, next %+v", d.At, d.Next)
	}
	if d.Need != 505*mib || d.Base != 100*mib || !d.Exact {
		t.Errorf("%+v", d)
	}
}

// TestMappedIsNotResident: KMeans maps 136 MiB of which 12 become resident; the array beside it is touched.
func TestMappedIsNotResident(t *testing.T) {
	cells := join(
		cell(1, "x = np.ones(n)", exact(100, 180, 180), exact(100, 180, 180)),
		cell(2, "m = KMeans().fit(x)", exact(180, 192, 190), exact(180, 192, 190)))
	cells[2].Allocations = []model.Allocation{by("cpu.mapped", 2, 1, 136, "_malloc", "fit"),
		by("cpu.mapped", 1, 1, 80, "ones"), by("cpu.numpy", 1, 1, 80, "ones")}
	_, d := make1(notebook(192, cells...))
	if len(d.Lines) != 2 || d.Lines[0].Execution != 1 || d.Lines[0].Resident != 80*mib ||
		d.Lines[1].Resident != 12*mib || d.Lines[1].AtPeak != 136*mib {
		t.Fatalf("lines %+v", d.Lines)
	}
	if len(d.Untouched) != 1 || d.Untouched[0].Source != "m = KMeans().fit(x)" {
		t.Errorf("untouched %+v", d.Untouched)
	}
}

// TestTheFallGoesToTheNextCell checks that another cell decides without the line that decides.
func TestTheFallGoesToTheNextCell(t *testing.T) {
	cells := join(
		cell(1, "a = load()", exact(100, 300, 300), exact(100, 300, 300)),
		cell(2, "b = a * 2", exact(300, 900, 300), exact(300, 900, 300)),
		cell(3, "c = a + 1", exact(300, 700, 300), exact(300, 700, 300)))
	cells[0].Allocations = []model.Allocation{by("cpu.numpy", 1, 1, 200)}
	cells[2].Allocations = []model.Allocation{by("cpu.numpy", 2, 1, 600), by("cpu.numpy", 1, 1, 200)}
	cells[4].Allocations = []model.Allocation{by("cpu.numpy", 3, 1, 400), by("cpu.numpy", 1, 1, 200)}
	r := notebook(900, cells...)
	r.Between = []model.Between{{PID: 7, After: 200, Before: 300, Meters: resident(exact(300, 301, 300))}}
	_, d := make1(r)
	got := ""
	for _, l := range d.Lines {
		got += fmt.Sprintf("%s %d; ", words.PlaceName(&l.PlanPlace), l.Fall/mib)
	}
	if want := "In[2] line 1 200; In[1] line 1 200; "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if s := d.Together; s == nil || s.Fall != 800*mib || s.Peak != 100*mib ||
		words.PlaceNames(s.Lines) != "In[2] line 1, In[1] line 1 and In[3] line 1" || s.Then == nil ||
		s.Then.Peak != 100*mib {
		t.Errorf("together %+v", s)
	}
}

// TestTheCellThatRose checks that a cell that only stays as high as one before it does not decide, and is not the next.
func TestTheCellThatRose(t *testing.T) {
	cells := join(
		cell(1, "small = load()", exact(100, 300, 200), exact(100, 300, 200)),
		cell(2, "big = np.ones(n)", exact(200, 900, 900), exact(200, 900, 900)),
		cell(3, "del big", exact(900, 901, 200), exact(900, 901, 200)))
	big := by("cpu.numpy", 2, 1, 700)
	big.Allocated, big.Net = 700*mib, 700*mib
	freed := by("cpu.numpy", 2, 1, 700)
	freed.Freed, freed.Net = 700*mib, -700*mib
	cells[2].Allocations = []model.Allocation{big}
	cells[3].Allocations = cells[2].Allocations
	cells[4].Allocations = []model.Allocation{freed}
	cells[5].Allocations = cells[4].Allocations
	_, d := make1(notebook(901, cells...))
	if d.At.Execution != 2 || d.At.Source != "big = np.ones(n)" || d.Next.Execution != 1 {
		t.Errorf("at %+v, next %+v", d.At, d.Next)
	}
	if len(d.Lines) != 1 || d.Lines[0].Fall != 601*mib || d.Lines[0].Then.Execution != 1 {
		t.Errorf("%+v, then %+v", d.Lines, d.Lines[0].Then)
	}
}

// TestManyCells checks that cells that are not looked at bound the fall.
func TestManyCells(t *testing.T) {
	var cells []model.Window
	for i := range 40 {
		one := cell(i+1, "work()", exact(100, 500-int64(i), 100), exact(100, 500-int64(i), 100))
		one[0].Allocations = []model.Allocation{by("cpu.numpy", i+1, 1, 300)}
		cells = append(cells, one...)
	}
	_, d := make1(notebook(500, cells...))
	if d.At.Execution != 1 || d.Next.Execution != 2 || d.Lines[0].Fall != mib {
		t.Errorf("%+v, then %+v, lines %+v", d.At, d.Next, d.Lines)
	}
}

// TestTheProcessThatStartsKernels checks that its memory is there whatever lines are left out, and is no moment of its
// own; a kernel beside it without cells is one.
func TestTheProcessThatStartsKernels(t *testing.T) {
	for _, c := range []struct {
		parent int
		want   int64
	}{{0, 300}, {8, 400}} {
		cells := cell(1, "a = load()", exact(100, 500, 100), exact(100, 500, 100))
		cells[0].Allocations = []model.Allocation{by("cpu.numpy", 1, 1, 400)}
		r := notebook(500, cells...)
		r.Processes[0].Parent = c.parent
		r.Processes = append(r.Processes, model.Process{PID: 8})
		r.Between = []model.Between{{PID: 8, Meters: resident(exact(10, 200, 200))}}
		if _, d := make1(r); d.Lines[0].Fall != c.want*mib {
			t.Errorf("below %d: %d MiB lower, want %d", c.parent, d.Lines[0].Fall/mib, c.want)
		}
	}
}

func TestMargins(t *testing.T) {
	p, d := make1(notebook(1024, cell(1, "x", exact(100, 1024, 100))...))
	if want := (1024 + 1024/20 + 1024/256 + 32 + 15) / 16 * 16 * mib; d.Limit != want {
		t.Errorf("limit %d MiB, want %d", d.Limit/mib, want/mib)
	}
	if d.Size != 2048*mib || d.Smaller != 1024*mib {
		t.Errorf("size %d, smaller %d", d.Size/mib, d.Smaller/mib)
	}
	all := ""
	for _, s := range p.Settings {
		all += s.Text
	}
	limit := d.Limit / mib
	for _, want := range []string{"memory: 1024Mi", fmt.Sprintf("memory: %dMi", limit), fmt.Sprintf("--mem=%dM", limit),
		fmt.Sprintf("--memory=%dm", limit), fmt.Sprintf("MemoryMax=%dM", limit)} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	if len(p.Doubts) > 0 {
		t.Errorf("%q", p.Doubts)
	}
}

func TestSpreadOfRuns(t *testing.T) {
	low, high := notebook(400, cell(1, "x", exact(100, 400, 100))...), notebook(600,
		cell(1, "x", exact(100, 600, 100))...)
	p := plan.Make([]*plan.Run{plan.Read("a", high), plan.Read("b", low)})
	d := p.Demands[0]
	if d.Need != 600*mib || d.Low != 400*mib || d.Run != 0 || d.Margin[0].Bytes != 200*mib ||
		*p.Runs[1].Peaks[0] != 400*mib {
		t.Errorf("%+v", d)
	}
}

func TestGPUs(t *testing.T) {
	r := notebook(300, cell(1, "m = net.cuda()", exact(100, 300, 300))...)
	r.Meters = append(r.Meters, model.Meter{ID: "gpu.0.driver"}, model.Meter{ID: "gpu.0.active"},
		model.Meter{ID: "gpu.0.unattributed"})
	for i := range r.Windows {
		meters := r.Windows[i].Meters
		meters["gpu.0.driver"], meters["gpu.0.active"] = exact(0, 800, 800), exact(0, 600, 600)
		meters["gpu.0.unattributed"] = exact(0, 400, 400)
	}
	r.Windows[1].Allocations = []model.Allocation{by("gpu.0.active", 1, 1, 600), by("gpu.0.driver", 1, 1, 800)}
	p := plan.Make([]*plan.Run{plan.Read("a", r)})
	if len(p.Demands) != 2 {
		t.Fatalf("%+v", p.Demands)
	}
	d := p.Demands[0] // the GPU leads
	if d.Meter != "gpu.0.driver" || d.Need != 1200*mib || d.Size != 0 || len(d.Lines) != 1 ||
		d.Lines[0].Meter != "gpu.0.active" || d.Lines[0].AtPeak != 600*mib {
		t.Errorf("%+v", d)
	}
	if !strings.Contains(p.Settings[0].Text, "nvidia.com/gpu: 1") {
		t.Errorf("%q", p.Settings[0].Text)
	}
}

// TestCutRunsMakeALowerBound: of runs of which one was cut, or killed for memory, the plan is a lower bound, in what is
// pasted, too.
func TestCutRunsMakeALowerBound(t *testing.T) {
	for name, stop := range map[string]func(*model.Report){
		"whole": func(*model.Report) {},
		"cut":   func(r *model.Report) { r.Certificate.Finished = "recording cut" },
		"killed": func(r *model.Report) {
			r.Processes[0].Ending = &model.Ending{OutOfMemory: true}
		},
		"killed in a cell": func(r *model.Report) {
			r.Processes[0].Ending = &model.Ending{Signal: "SIGKILL", Window: 100}
		},
		"killed between cells": func(r *model.Report) { r.Processes[0].Ending = &model.Ending{Signal: "SIGKILL"} },
	} {
		r := notebook(300, cell(1, "x", exact(100, 300, 300))...)
		stop(r)
		whole := notebook(400, cell(1, "x", exact(100, 400, 400))...)
		p := plan.Make([]*plan.Run{plan.Read("a", r), plan.Read("b", whole)})
		want := name != "whole" && name != "killed between cells"
		if d := &p.Demands[0]; d.AtLeast() != want {
			t.Errorf("%s: %+v", name, d)
		}
		for _, s := range p.Settings {
			if strings.Contains(s.Text, "≥") != want {
				t.Errorf("%s: %s", name, s.Text)
			}
		}
	}
}

func TestDoubts(t *testing.T) {
	cells := cell(1, "x", exact(100, 300, 300))
	cells[0].Status = model.Error
	r := notebook(300, cells...)
	f := r.Windows[0].Meters["cpu.resident"]
	f.Exact, f.Bound = false, nil
	r.Windows[0].Meters["cpu.resident"] = f
	r.Certificate.Finished, r.Certificate.Incomplete = "recording cut", []string{"changes were lost"}
	r.Processes[0].Late, r.Processes[0].Ending = true, &model.Ending{OutOfMemory: true}
	r.Between = []model.Between{{PID: 7, Label: "after In[1]", Meters: resident(exact(300, 310, 300))}}
	p, d := make1(r)
	all := strings.Join(p.Doubts, "\n")
	for _, want := range []string{"was cut", "1 cell did not end well", "ran already", "OOM killer",
		"changes were lost", "lower bound", "between two cells"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	if d.Exact || d.Bound != nil || d.At != nil {
		t.Errorf("%+v", d)
	}
}

func TestNothingToPlan(t *testing.T) {
	p, d := make1(&model.Report{})
	if d.Need != 0 || len(p.Doubts) == 0 || len(p.Settings) == 0 {
		t.Errorf("%+v", p)
	}
}
