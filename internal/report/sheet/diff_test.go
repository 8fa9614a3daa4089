package sheet_test

import (
	"encoding/json"
	"strings"
	"testing"

	"ipytracer/internal/compare"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

// compared compares two sessions of the fixtures: a day at the notebook, and the same after some changes.
func compared(t *testing.T, limits string, before, after *model.Report) *model.Diff {
	t.Helper()
	o := compare.Options{Least: 1 << 20}
	if limits != "" {
		var err error
		if o.Limits, err = compare.ParseLimits(limits); err != nil {
			t.Fatal(err)
		}
	}
	d, err := compare.Runs(compare.Read("/tmp/before.arrows", before), compare.Read("/tmp/after.arrows", after), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// changed returns the same day with a cell that was edited, one that is new, one that is gone, and a doubtful figure.
func changed() *model.Report {
	r := reporttest.Inexact()
	for i := range r.Windows {
		w := &r.Windows[i]
		switch {
		case w.Kind == model.Session:
			w.Meters = reporttest.All(reporttest.Fig(68<<20, 4<<30, 2<<30), reporttest.Fig(90<<20, 5<<30, 2<<30),
				reporttest.Fig(0, 4<<30, 2<<30))
		case w.Kind == model.Cell && w.Execution == 2:
			w.Source = strings.Replace(w.Source, "x * 2 + 1", "x * 2 + x ** 2", 1)
			w.Meters = reporttest.All(reporttest.Fig(150<<20, 4<<30, 2<<30), reporttest.Fig(180<<20, 5<<30, 2<<30),
				reporttest.Fig(64<<20, 4<<30, 2<<30))
			w.DurationNS *= 2
		case w.Kind == model.Cell && w.Execution == 4:
			w.Source = "plot(entirely, different)"
		case w.Kind == model.Cell && w.Execution == 7:
			for id, f := range w.Meters {
				w.Meters[id] = reporttest.Fig(f.Start+(1<<30), f.Peak+(1<<30), f.End+(1<<30))
			}
			w.Tree = nil
		}
	}
	r.Host.Kernel = "5.4"
	return r
}

func diffText(t *testing.T, d *model.Diff, o text.Options) string {
	t.Helper()
	return onTerminal(t, sheet.Diff(d, options(o)), o)
}

func TestDiffGolden(t *testing.T) {
	d := compared(t, "10%", reporttest.Rich(), changed())
	reporttest.Golden(t, "diff.txt", []byte(diffText(t, d, text.Options{})))
	reporttest.Golden(t, "diff.80.txt", []byte(diffText(t, d, text.Options{Width: 80})))
	reporttest.Golden(t, "diff.json", reporttest.Diff(t, d))
	same := compared(t, "10%", reporttest.Rich(), reporttest.Rich())
	reporttest.Golden(t, "diff.same.txt", []byte(diffText(t, same, text.Options{})))
	reporttest.Diff(t, same)
	follows := compared(t, "", reporttest.Orders(12), reporttest.Orders(4))
	reporttest.Golden(t, "diff.follows.txt", []byte(diffText(t, follows, text.Options{})))
	reporttest.Golden(t, "diff.follows.80.txt", []byte(diffText(t, follows, text.Options{Width: 80})))
	reporttest.Golden(t, "diff.follows.json", reporttest.Diff(t, follows))
	if full := diffText(t, follows, text.Options{Full: true}); strings.Count(full, "    why     it reads ") != 5 {
		t.Errorf("with nothing left out:\n%s", full)
	}
}

// TestDiffOfAnything: for any two sessions there is a comparison that can be shown.
func TestDiffOfAnything(t *testing.T) {
	for a, before := range reporttest.Reports {
		for b, after := range reporttest.Reports {
			d := compared(t, "10%,1MiB", before(), after())
			if got := diffText(t, d, text.Options{Full: true, Width: 80}); !strings.Contains(got, "cause") {
				t.Errorf("%s and %s: %s", a, b, got)
			}
			reporttest.CheckSafe(t, string(reporttest.Diff(t, d)), "\n")
		}
	}
}

func TestDiffWithoutSource(t *testing.T) {
	d := report.DiffWithoutSource(compared(t, "", reporttest.WithLines(), changed()))
	shown := diffText(t, d, text.Options{Full: true}) + string(reporttest.Diff(t, d))
	for _, secret := range []string{"np.ones", "timeit", "entirely", "joblib import"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is there", secret)
		}
	}
	var back struct {
		Cells []struct{ B *struct{ Source string } }
	}
	if err := json.Unmarshal(reporttest.Diff(t, d), &back); err != nil || len(back.Cells) == 0 {
		t.Errorf("%v, %d cells", err, len(back.Cells))
	}
}
