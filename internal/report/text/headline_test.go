package text_test

import (
	"fmt"
	"strings"
	"testing"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
)

const mib = reporttest.MiB

// small returns a late session of one kernel that had 68 MiB: In[1] imports for 60 MiB, In[2] is the test's own.
func small(needed int64) *model.Report {
	r := reporttest.Empty()
	figures := func(start, peak, end int64) map[string]model.Figure {
		return reporttest.All(reporttest.Fig(start, peak, end), reporttest.Fig(start+40*mib, peak+40*mib, end+40*mib),
			reporttest.Fig(0, 0, 0))
	}
	imports, work := reporttest.CellWindow(10, 1, "import numpy as np\nimport pandas as pd"),
		reporttest.CellWindow(11, 2, "data = load()\nresult = work(data)")
	imports.Meters = figures(68*mib, 128*mib, 128*mib)
	work.Meters = figures(128*mib, 128*mib+needed, 128*mib+needed)
	session := model.Window{
		ID: 1, Kind: model.Session, PID: 4242, Status: model.OK, DurationNS: 5000 * reporttest.MS, CPUNS: -1,
		Meters: figures(68*mib, 128*mib+needed, 128*mib+needed),
	}
	r.Windows = []model.Window{session, imports, work,
		reporttest.StatementWindow(20, 10, 1, figures(68*mib, 80*mib, 80*mib)),
		reporttest.StatementWindow(21, 10, 2, figures(80*mib, 128*mib, 128*mib)),
		reporttest.StatementWindow(22, 11, 1, figures(128*mib, 128*mib, 128*mib)),
		reporttest.StatementWindow(23, 11, 2, figures(128*mib, 128*mib+needed, 128*mib+needed)),
	}
	for i := range r.Windows[3:] {
		of := r.Windows[1+i/2]
		r.Windows[3+i].StartNS = of.StartNS + int64(i%2+1)*reporttest.MS
	}
	return r
}

// allocated adds to a cell the memory of a line of a run of a cell at its peak.
func allocated(c *model.Window, meter string, execution, line int, bytes, count int64) {
	c.Allocations = append(c.Allocations,
		model.Allocation{Meter: meter, Allocated: bytes, AtPeak: bytes, Count: count, Stack: []model.Frame{{
			Function: "<module>", File: fmt.Sprintf("/tmp/ipykernel_4242/%d.py", execution), Line: line,
			Execution: execution, ExecutionCount: reporttest.Number(execution)}}})
}

// gap adds the time after a cell, in which resident memory goes from a start to a peak and stays there.
func gap(r *model.Report, after int, startNS, start, peak int64) {
	r.Between = append(r.Between,
		model.Between{PID: 4242, After: after, Label: "after a cell", StartNS: startNS, DurationNS: reporttest.MS,
			Meters: reporttest.All(reporttest.Fig(start, peak, peak), reporttest.Fig(0, 0, 0),
				reporttest.Fig(0, 0, 0))})
}

// TestSmallRiseIsTheCells: if memory rose by less than 1 % after a cell, the highest moment is the cell's, with its
// line and parts. If it rose by more, it is the time between cells.
func TestSmallRiseIsTheCells(t *testing.T) {
	r := small(400 * mib)
	allocated(&r.Windows[2], "cpu.numpy", 2, 2, 390*mib, 1)
	gap(r, 11, 2_500*reporttest.MS, 528*mib, 528*mib+8*reporttest.KiB)
	got := lines(t, r, text.Options{})
	want := "528.01 MiB of 23.00 GiB resident (2 %) in In[2], line 2: result = work(data)"
	if got["highest"] != want {
		t.Errorf("highest: %q, want %q", got["highest"], want)
	}
	r.Between[0].Meters["cpu.resident"] = reporttest.Fig(528*mib, 530*mib, 530*mib)
	want = "530.00 MiB of 23.00 GiB resident (2 %) in In[2], line 2 (2.00 MiB of it came later): result = work(data)"
	if got := lines(t, r, text.Options{})["highest"]; got != want {
		t.Errorf("highest: %q, want %q", got, want)
	}
	if !strings.HasPrefix(got["made by"], "390.00 MiB numpy In[2] line 2 · ") {
		t.Errorf("made by: %q", got["made by"])
	}
	r.Between[0].Meters["cpu.resident"] = reporttest.Fig(528*mib, 540*mib, 540*mib)
	r.Summits = []model.Summit{{PID: 4242, Meter: "cpu.resident", Bytes: 540 * mib,
		Processes: []model.SummitProcess{{PID: 4242, Bytes: 540 * mib, Allocations: r.Windows[2].Allocations}}}}
	const none = "390.00 MiB numpy In[2] line 2 · 68.00 MiB from before the attach · " +
		"60.00 MiB resident In[1] line 2 · 12.00 MiB resident after In[2] · 10.00 MiB in 1 smaller part"
	if got := lines(t, r, text.Options{}); !strings.HasSuffix(got["highest"], " after a cell") ||
		!strings.HasPrefix(got["made by"], none) {
		t.Errorf("highest %q, made by %q", got["highest"], got["made by"])
	}
}

// TestLastCellThatHardlyRose: a cell that is the highest only because earlier memory is still there has no headline of
// its own.
func TestLastCellThatHardlyRose(t *testing.T) {
	r := small(400 * mib)
	last := reporttest.CellWindow(12, 3, "pass")
	last.Meters = reporttest.All(reporttest.Fig(528*mib, 528*mib+64*reporttest.KiB, 528*mib), reporttest.Fig(0, 0, 0),
		reporttest.Fig(0, 0, 0))
	r.Windows = append(r.Windows, last)
	got := lines(t, r, text.Options{})["highest"]
	if !strings.HasPrefix(got, "528.06 MiB of 23.00 GiB resident (2 %) in In[2], line 2: ") {
		t.Errorf("highest: %q", got)
	}
}

// TestReservationsDoNotLead: hardly touched mappings are not the cause of a highest moment; touched memory counts in
// full.
func TestReservationsDoNotLead(t *testing.T) {
	r := small(20 * mib)
	cell := &r.Windows[2]
	for _, i := range []int{2, 6} {
		figures := r.Windows[i].Meters
		figures["cpu.mapped"] = reporttest.Fig(168*mib, 168*mib+138*mib, 168*mib+138*mib)
	}
	allocated(cell, "cpu.mapped", 2, 2, 128*mib, 1) // a buffer of a library's
	allocated(cell, "cpu.mapped", 2, 2, 8*mib, 8)
	cell.Allocations[1].Stack = append([]model.Frame{{Function: "objects", File: "/home/ada/objects.py", Line: 3}},
		cell.Allocations[1].Stack...)
	allocated(cell, "cpu.resident", 2, 2, 12*mib, 100)
	allocated(cell, "cpu.resident", 2, 2, 8*mib, 100)
	cell.Allocations[2].Sampled, cell.Allocations[3].Sampled = true, true
	cell.Allocations[3].Stack = cell.Allocations[1].Stack
	got := lines(t, r, text.Options{})
	want := "68.00 MiB from before the attach · 60.00 MiB resident In[1] line 2 · " +
		"~12.00 MiB resident In[2] line 2 · ~8.00 MiB resident In[2] line 2 › objects.py line 3 objects"
	if got["made by"] != want {
		t.Errorf("made by: %q, want %q", got["made by"], want)
	}
	touched := small(400 * mib)
	allocated(&touched.Windows[2], "cpu.mapped", 2, 2, 399*mib, 1)
	got = lines(t, touched, text.Options{})
	if !strings.HasPrefix(got["made by"], "399.00 MiB mapped In[2] line 2 · ") {
		t.Errorf("made by: %q", got["made by"])
	}
	// the line frees the memory of its last run, and allocates it again: resident memory does not rise
	again := small(400 * mib)
	figures := reporttest.All(reporttest.Fig(528*mib, 528*mib, 528*mib), reporttest.Fig(568*mib, 568*mib, 568*mib),
		reporttest.Fig(0, 0, 0))
	again.Windows[2].Meters, again.Windows[6].Meters = figures, figures
	allocated(&again.Windows[2], "cpu.mapped", 2, 2, 399*mib, 1)
	again.Windows[2].Meters["cpu.resident"] = reporttest.Fig(528*mib, 534*mib, 528*mib)
	if got := lines(t, again, text.Options{}); !strings.HasPrefix(got["made by"], "399.00 MiB mapped In[2] line 2 · ") {
		t.Errorf("of a cell that ran again: made by %q", got["made by"])
	}
}

// TestArraysNobodyTouched: an array that np.empty made is not the cause of a highest moment, because no page is
// touched.
func TestArraysNobodyTouched(t *testing.T) {
	r := small(10 * mib)
	for _, i := range []int{2, 6} {
		r.Windows[i].Meters["cpu.mapped"] = reporttest.Fig(168*mib, 168*mib+4*reporttest.GiB, 168*mib+4*reporttest.GiB)
	}
	allocated(&r.Windows[2], "cpu.numpy", 2, 2, 4*reporttest.GiB, 1)
	allocated(&r.Windows[2], "cpu.resident", 2, 2, 10*mib, 1)
	if got := lines(t, r, text.Options{})["made by"]; strings.Contains(got, "GiB") ||
		!strings.Contains(got, "10.00 MiB resident In[2] line 2") {
		t.Errorf("made by: %q", got)
	}
}

// TestTouchedByAnotherLine: memory counts for the line that touched it, and exactly where that line allocated it.
func TestTouchedByAnotherLine(t *testing.T) {
	r := small(200 * mib)
	r.Windows[1].Meters["cpu.mapped"] = reporttest.Fig(108*mib, 168*mib+3*reporttest.GiB, 168*mib+3*reporttest.GiB)
	r.Windows[2].Meters["cpu.mapped"] = reporttest.Fig(168*mib+3*reporttest.GiB, 368*mib+3*reporttest.GiB,
		368*mib+3*reporttest.GiB)
	allocated(&r.Windows[2], "cpu.numpy", 1, 2, 3*reporttest.GiB, 1)
	allocated(&r.Windows[2], "cpu.numpy", 2, 2, 196*mib, 1)
	allocated(&r.Windows[2], "cpu.resident", 1, 3, 64*mib, 1)
	allocated(&r.Windows[2], "cpu.resident", 2, 2, 195*mib, 1)
	got, want := lines(t, r, text.Options{})["made by"],
		"196.00 MiB numpy In[2] line 2 · 68.00 MiB from before the attach · 64.00 MiB resident In[1] line 3"
	if got != want {
		t.Errorf("made by: %q, want %q", got, want)
	}
}

// TestWorkersArePartOfTheSentence: the memory of children stands beside the lines, by size.
func TestWorkersArePartOfTheSentence(t *testing.T) {
	for _, test := range []struct {
		peaks []int64
		want  string
	}{
		{[]int64{129 * mib, 129*mib + 4*reporttest.KiB}, "workers 2 × 129.00 MiB · "},
		{[]int64{100 * mib, 190 * mib}, "workers 190.00 MiB + 100.00 MiB · "},
		{[]int64{100 * mib, 190 * mib, 20 * mib, 10 * mib}, "workers 4 with 320.00 MiB together · "},
	} {
		r := small(10 * mib)
		cell := &r.Windows[2]
		allocated(cell, "cpu.numpy", 2, 2, 9*mib, 1)
		sum := int64(0)
		for i, peak := range test.peaks {
			cell.Children = append(cell.Children, model.Child{
				PID: 5000 + i, Command: "python3 -m joblib.externals.loky.backend.popen_loky_posix",
				Meters: reporttest.All(reporttest.Fig(0, peak, peak), reporttest.Fig(0, 0, 0), reporttest.Fig(0, 0, 0)),
			})
			sum += peak
		}
		cell.Tree = reporttest.All(reporttest.Fig(128*mib, 138*mib+sum, 138*mib+sum), reporttest.Fig(0, 0, 0),
			reporttest.Fig(0, 0, 0))
		got := lines(t, r, text.Options{})
		if !strings.HasPrefix(got["made by"], test.want) ||
			!strings.Contains(got["highest"], "with its children (138.00 MiB without)") {
			t.Errorf("highest %q, made by %q, want %q", got["highest"], got["made by"], test.want)
		}
	}
}

// TestFreedIsNoPart: memory that an earlier cell kept and a later one freed is no part of the highest moment.
func TestFreedIsNoPart(t *testing.T) {
	r := small(400 * mib)
	freed := reporttest.CellWindow(12, 3, "del data")
	freed.Meters = reporttest.All(reporttest.Fig(528*mib, 528*mib, 128*mib), reporttest.Fig(0, 0, 0),
		reporttest.Fig(0, 0, 0))
	big := reporttest.CellWindow(13, 4, "big = work()")
	big.Meters = reporttest.All(reporttest.Fig(128*mib, 900*mib, 900*mib), reporttest.Fig(168*mib, 940*mib, 940*mib),
		reporttest.Fig(0, 0, 0))
	allocated(&big, "cpu.numpy", 4, 1, 770*mib, 1)
	r.Windows = append(r.Windows, freed, big)
	got, want := lines(t, r, text.Options{})["made by"],
		"770.00 MiB numpy In[4] line 1 · 68.00 MiB from before the attach · 60.00 MiB resident In[1] line 2 · "+
			"2.00 MiB in 1 smaller part"
	if got != want {
		t.Errorf("made by: %q, want %q", got, want)
	}
}

// TestFirstLinesAreWhole: with --full the first lines are wrapped at the width and nothing of them is cut.
func TestFirstLinesAreWhole(t *testing.T) {
	r := left(small(400*mib), 0, model.Variable{Name: "a_name_that_is_quite_long", Kind: "variable", Bytes: 390 * mib})
	for i := range 6 {
		allocated(&r.Windows[2], "cpu.numpy", 2, 2, int64(60-i)*mib, 1)
		r.Windows[2].Allocations[i].Stack = append([]model.Frame{
			{
				Function: fmt.Sprintf("function_number_%d_with_a_name", i),
				File:     fmt.Sprintf("/home/ada/work/module_%d.py", i), Line: 3,
			},
		}, r.Windows[2].Allocations[i].Stack...)
	}
	whole := lines(t, r, text.Options{Full: true})
	for _, width := range []int{60, 80, 120, 220} {
		out, _, _ := strings.Cut(printed(t, r, text.Options{Width: width, Full: true}), "\n\n")
		got := map[string]string{}
		name := ""
		for line := range strings.SplitSeq(out, "\n") {
			if escape.Cells(line) > width {
				t.Errorf("%d cells at %d: %s", escape.Cells(line), width, line)
			}
			if head := strings.TrimSpace(line[:13]); head != "" {
				name = head
				got[name] = line[13:]
			} else {
				got[name] += " " + line[13:]
			}
		}
		for name, want := range whole {
			if got[name] != want {
				t.Errorf("%s at %d: %q, want %q", name, width, got[name], want)
			}
		}
	}
}

// TestChildrenOnce: two workers that took memory in three cells have two rows; with --full, cells in which they were
// idle have none.
func TestChildrenOnce(t *testing.T) {
	r := small(10 * mib)
	worker := func(pid int, need int64) model.Child {
		return model.Child{
			PID: pid, Command: "python3 -m joblib.externals.loky.backend.popen_loky_posix",
			Meters: reporttest.All(reporttest.Fig(100*mib, 100*mib+need, 100*mib), reporttest.Fig(0, 0, 0),
				reporttest.Fig(0, 0, 0)),
		}
	}
	for i, need := range []int64{20 * mib, 60 * mib, 40 * mib, 0, 4 * reporttest.KiB, 0, 0} {
		c := reporttest.CellWindow(100+i, 10+i, "fit()")
		c.Meters = reporttest.All(reporttest.Fig(138*mib, 139*mib, 138*mib), reporttest.Fig(0, 0, 0),
			reporttest.Fig(0, 0, 0))
		c.Children = []model.Child{worker(7001, need), worker(7002, need)}
		c.Tree = reporttest.All(reporttest.Fig(338*mib, 338*mib+2*need, 338*mib), reporttest.Fig(0, 0, 0),
			reporttest.Fig(0, 0, 0))
		r.Windows = append(r.Windows, c)
	}
	_, short, _ := strings.Cut(printed(t, r, text.Options{}), "Child processes")
	short, _, _ = strings.Cut(short, "\n\n")
	if strings.Count(short, "7001") != 1 || strings.Count(short, "7002") != 1 ||
		!strings.Contains(short, "In[11]  7001") || strings.Contains(short, "… and") {
		t.Errorf("children:\n%s", short)
	}
	_, full, _ := strings.Cut(printed(t, r, text.Options{Full: true}), "Child processes")
	full, _, _ = strings.Cut(full, "\n\nCertificate")
	if strings.Count(full, "7001") != 3 ||
		!strings.Contains(full, "In 4 other cells the processes that lived took less than 64.00 KiB each.") {
		t.Errorf("children with --full:\n%s", full)
	}
}

// TestOtherKinds: parts of resident memory without a row are counted.
func TestOtherKinds(t *testing.T) {
	out := printed(t, left(small(400*mib), 0), text.Options{})
	if !strings.Contains(out, "  4.00 MiB  other, 3 kinds; --full lists them\n") || strings.Contains(out, "less than") {
		t.Errorf("got\n%s", out)
	}
}

// TestSilentCells: a cell that no user typed has a row if it needed memory.
func TestSilentCells(t *testing.T) {
	r := small(10 * mib)
	silent := reporttest.CellWindow(12, 3, "_check()")
	silent.ExecutionCount, silent.Silent = nil, true
	silent.Meters = reporttest.All(reporttest.Fig(138*mib, 138*mib+900*reporttest.KiB, 138*mib),
		reporttest.Fig(0, 0, 0), reporttest.Fig(0, 0, 0))
	r.Windows = append(r.Windows, silent)
	if out := printed(t, r, text.Options{}); strings.Contains(out, "_check()") {
		t.Errorf("a silent cell that needed 900 KiB has a row:\n%s", out)
	}
	r.Windows[len(r.Windows)-1].Meters["cpu.resident"] = reporttest.Fig(138*mib, 190*mib, 138*mib)
	if out := printed(t, r, text.Options{}); !strings.Contains(out, "“_check()”   52.00 MiB") ||
		strings.Contains(out, "#") {
		t.Errorf("a silent cell that needed 52 MiB has none, or a number:\n%s", out)
	}
	again := r.Windows[len(r.Windows)-1]
	again.ID, again.Execution = 13, 4
	r.Windows = append(r.Windows, again)
	if out := printed(t, r, text.Options{}); !strings.Contains(out, "“_check()” (run 3)   52.00 MiB") ||
		!strings.Contains(out, "“_check()” (run 4)   52.00 MiB") {
		t.Errorf("two silent cells of one text are not told apart:\n%s", out)
	}
	for i := range r.Windows {
		r.Windows[i].Source = ""
	}
	if out := printed(t, r, text.Options{}); !strings.Contains(out, "a silent cell (run 4)   52.00 MiB") ||
		strings.Contains(out, "#") {
		t.Errorf("silent cells without a text:\n%s", out)
	}
}
