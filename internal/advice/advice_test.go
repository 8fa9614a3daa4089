package advice

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/advice/advicetest"
	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
	"ipytracer/report"
)

const mib = advicetest.MiB

// two returns a session with two names that are not used behind their cell, and two high moments.
func two() *model.Report {
	still := []advicetest.Blocks{advicetest.Still(1, 1, 200), advicetest.Still(1, 2, 30), advicetest.Still(1, 3, 20)}
	return advicetest.Report([]model.Variable{
		advicetest.Variable("raw", 200, 1, 1), advicetest.Variable("old", 30, 1, 2),
	},
		advicetest.Cell{Source: "raw = load()\nold = more()\nx = raw * old", Steps: []advicetest.Step{
			advicetest.Makes(1, 200), advicetest.Makes(2, 30), advicetest.Makes(3, 20),
		}},
		advicetest.Cell{Source: "big(x)\nsmall(x)", Steps: []advicetest.Step{
			advicetest.Needs(1, 300, still...), advicetest.Needs(2, 10, still...),
		}})
}

// TestOrderSavingsAndPlaces compares the list: its order, savings, places and diffs.
func TestOrderSavingsAndPlaces(t *testing.T) {
	a := Make(two(), Options{Meter: "cpu.resident"})
	if a.Peak != 650*mib || !a.Exact || a.At.Execution != 2 || a.At.Line != 1 || a.Cells != 2 || len(a.Items) != 2 {
		t.Fatalf("%+v", a)
	}
	raw, old := a.Items[0], a.Items[1]
	if raw.Names[0] != "raw" || raw.Saves != 200*mib || raw.Peak != 450*mib || raw.Number != 1 ||
		old.Names[0] != "old" || old.Saves != 30*mib || raw.Then.Line != 1 {
		t.Errorf("%+v\n%+v", raw, old)
	}
	const want = "--- In[1]\n+++ In[1]\n@@ -2,2 +2,3 @@\n old = more()\n x = raw * old\n+del raw\n"
	if raw.Diff != want {
		t.Errorf("the diff is\n%s\nwant\n%s", raw.Diff, want)
	}
	if raw.Try != "sudo tracer try /home/ada/n.ipynb --advice 1" {
		t.Error(raw.Try)
	}
	var b bytes.Buffer
	if err := report.AdviceJSON(&b, a); err != nil {
		t.Fatal(err)
	}
	if err := reporttest.CheckAdvice(b.Bytes()); err != nil {
		t.Error(err)
	}
}

// TestMakeOfCell asks for the highest moment of one cell.
func TestMakeOfCell(t *testing.T) {
	a := Make(two(), Options{Meter: "cpu.resident", Input: 1})
	if a.Of != model.Cell || a.Peak != 350*mib || a.At.Execution != 1 || len(a.Items) != 0 {
		t.Errorf("%+v", a)
	}
	if a = Make(two(), Options{Meter: "cpu.resident", Input: 9}); a.At != nil || len(a.Items) != 0 {
		t.Errorf("a cell that did not run: %+v", a)
	}
}

// TestNotConsidered has sessions that no advice can be made of.
func TestNotConsidered(t *testing.T) {
	r := advicetest.Report(nil, advicetest.Cell{
		Source: "not python at all", Steps: []advicetest.Step{{Line: 1, Peak: 9}},
	})
	a := Make(r, Options{Meter: "cpu.resident"})
	if len(a.Items) != 0 || len(a.Unknown) != 3 {
		t.Errorf("%+v", a)
	}
	if a := Make(&model.Report{}, Options{}); a.At != nil || len(a.Items) != 0 || a.Items == nil {
		t.Errorf("an empty session: %+v", a)
	}
}

// candidates returns a rule that finds so many candidates, each with a saving of its number in MiB.
func candidates(n int, of string) notebook.Rule {
	return func(book *notebook.Notebook) (all []notebook.Candidate) {
		for i := range n {
			all = append(all, notebook.Candidate{
				Kind: "made up " + of, Cell: book.Cells[0], Line: 1, Names: []string{fmt.Sprint(i)},
				Accuracy: model.SavesGuess, Memory: of, Falls: func(*notebook.Moment) int64 { return int64(i) * mib },
			})
		}
		return all
	}
}

// TestLengthOfTheList checks the length of the list, its least saving, and that memory is in it once before all of it
// is.
func TestLengthOfTheList(t *testing.T) {
	a := Read(two(), Options{Meter: "cpu.resident"}).byRules([]notebook.Rule{candidates(20, "")})
	if len(a.Items) != 10 || a.Items[0].Saves != 19*mib || a.Left != 3 {
		t.Errorf("%d items, %d left, the first saves %d", len(a.Items), a.Left, a.Items[0].Saves)
	}
	a = Read(two(), Options{Meter: "cpu.resident"}).byRules([]notebook.Rule{
		candidates(20, "same"), candidates(18, "other"),
	})
	var got []int64
	for _, item := range a.Items[:4] {
		got = append(got, item.Saves/mib)
	}
	if !slices.Equal(got, []int64{19, 17, 18, 17}) {
		t.Errorf("savings %v, want the best of each memory first", got)
	}
}

// TestAdviceOnHostileSources makes advice of sources that nobody means well with.
func TestAdviceOnHostileSources(t *testing.T) {
	for _, source := range []string{
		strings.Repeat("(", 100_000), strings.Repeat("x = y\n", 40_000),
		"raw = load()\n" + strings.Repeat("raw;", 50_000),
		"\x00\xff\xfe", "raw = load()\n'''", strings.Repeat("if x:\n ", 1) + strings.Repeat(" ", 100_000) + "y",
		"def f():\n" + strings.Repeat(" def f(): return f\n", 20_000),
	} {
		r := advicetest.Report(nil,
			advicetest.Cell{Source: source, Steps: []advicetest.Step{advicetest.Makes(1, 200)}},
			advicetest.Cell{Source: "big(1)", Steps: []advicetest.Step{
				advicetest.Needs(1, 300, advicetest.Still(1, 1, 200)),
			}})
		Make(r, Options{Meter: "cpu.resident"})
	}
}

// BenchmarkAdvise makes advice for a session of 64 cells with eight statements each.
func BenchmarkAdvise(b *testing.B) {
	var cells []advicetest.Cell
	for i := range 64 {
		var c advicetest.Cell
		for line := range 8 {
			c.Source += fmt.Sprintf("x%d_%d = load(x%d_%d)\n", i, line, max(0, i-1), line)
			step := advicetest.Makes(line+1, 2)
			for earlier := range min(i, 40) {
				step.Blocks = append(step.Blocks, advicetest.Still(i-earlier, line+1, 2))
			}
			c.Steps = append(c.Steps, step)
		}
		cells = append(cells, c)
	}
	r := advicetest.Report(nil, cells...)
	for b.Loop() {
		Make(r, Options{Meter: "cpu.resident"})
	}
}
