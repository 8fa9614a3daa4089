package compare_test

import (
	"math"
	"testing"

	"ipytracer/internal/compare"
	"ipytracer/model"
)

func TestParseLimits(t *testing.T) {
	for _, good := range []string{"10%", "0%", "100MiB", "12.5 %, 2g", "0"} {
		if _, err := compare.ParseLimits(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "x", "10%,", "-3%", "NaN%", "inf%", "5 apples", "%", "9E"} {
		if _, err := compare.ParseLimits(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// inexact makes a cell's figure inexact by a bound, or without a bound where that is below 0.
func inexact(bound int64) func(*model.Window) {
	return func(w *model.Window) {
		f := w.Meters["cpu.resident"]
		f.Exact, f.Bound = false, nil
		if bound >= 0 {
			f.Bound = &bound
		}
		w.Meters["cpu.resident"] = f
	}
}

func TestJudgement(t *testing.T) {
	status := func(s string) func(*model.Window) { return func(w *model.Window) { w.Status = s } }
	type run struct {
		needs  int64
		change func(*model.Window)
	}
	for _, c := range []struct {
		name         string
		a, b         run
		limits       string
		over, unsure bool
	}{
		{"same", run{needs: 100}, run{needs: 100}, "0%,0", false, false},
		{"less", run{needs: 100}, run{needs: 10}, "0%", false, false},
		{"under a share", run{needs: 100}, run{needs: 109}, "10%", false, false},
		{"at a share", run{needs: 100}, run{needs: 110}, "10%", false, false},
		{"over a share", run{needs: 100}, run{needs: 111}, "10%", true, false},
		{"over bytes", run{needs: 100}, run{needs: 111}, "10MiB", true, false},
		{"at bytes", run{needs: 100}, run{needs: 110}, "10MiB", false, false},
		{"any of two", run{needs: 1000}, run{needs: 1050}, "10%,20MiB", true, false},
		{"from nothing", run{needs: 0}, run{needs: 5}, "10%", true, false},
		{"off by enough to be under", run{needs: 100}, run{needs: 111, change: inexact(2 * mib)}, "10%", false, true},
		{"off by little", run{needs: 100}, run{needs: 150, change: inexact(2 * mib)}, "10%", true, false},
		{"off, and under all the same", run{needs: 100}, run{needs: 101, change: inexact(2 * mib)}, "10%", false,
			false},
		{"at least, and over", run{needs: 100}, run{needs: 150, change: inexact(-1)}, "10%", true, false},
		{"at least, and under", run{needs: 100}, run{needs: 100, change: inexact(-1)}, "10%", false, true},
		{"was at least", run{needs: 100, change: inexact(-1)}, run{needs: 150}, "10%", false, true},
		{"was off by more than a number holds", run{needs: 100}, run{needs: 100, change: inexact(math.MaxInt64)}, "10%",
			false, true},
		{"failed now", run{needs: 100}, run{needs: 50, change: status(model.Error)}, "10%", false, true},
		{"failed then", run{needs: 50, change: status(model.Error)}, run{needs: 100}, "10%", false, true},
		{"failed both times", run{needs: 100, change: status(model.Error)},
			run{needs: 100, change: status(model.Error)}, "10%", false, false},
	} {
		a, b := session(one{source: "x", needs: c.a.needs, change: c.a.change}), session(one{source: "x",
			needs: c.b.needs, change: c.b.change})
		// only the cell's figures
		a.Windows[0].Meters, b.Windows[0].Meters = map[string]model.Figure{}, map[string]model.Figure{}
		j := diff(t, a, b, c.limits).Judged
		if (len(j.Over) > 0) != c.over || (len(j.Unsure) > 0) != c.unsure {
			t.Errorf("%s: over %q, unsure %q", c.name, j.Over, j.Unsure)
		}
	}
}

// TestLittleIsNotJudged checks that a difference below the least change counts as that of two runs of the same
// notebook.
func TestLittleIsNotJudged(t *testing.T) {
	a, b := session(one{source: "x"}), session(one{source: "x"})
	b.Windows[1].Meters["cpu.resident"] = exact(100*mib, 100*mib+mib/2, 100*mib)
	if j := diff(t, a, b, "0%").Judged; len(j.Over)+len(j.Unsure) > 0 {
		t.Errorf("%+v", j)
	}
}

// TestACutSession checks that a cut session is never surely within a limit.
func TestACutSession(t *testing.T) {
	a, b := session(one{source: "x", needs: 100}, one{source: "y", needs: 10}), session(one{source: "x", needs: 100})
	b.Certificate.Finished = "recording cut"
	if j := diff(t, a, b, "10%").Judged; len(j.Over) > 0 || len(j.Unsure) == 0 {
		t.Errorf("%+v", j)
	}
}

// TestOtherMetersAreJudgedOnlyIfAsked: mapped and numpy hardly show how much memory a machine needs.
func TestOtherMetersAreJudgedOnlyIfAsked(t *testing.T) {
	a, b := session(one{source: "x"}), session(one{source: "x"})
	a.Windows[1].Meters["cpu.numpy"], b.Windows[1].Meters["cpu.numpy"] = exact(0, mib, 0), exact(0, 90*mib, 0)
	if j := diff(t, a, b, "10%").Judged; len(j.Over) > 0 {
		t.Errorf("%+v", j)
	}
	if j := diff(t, a, b, "10%", "cpu.numpy").Judged; len(j.Over) != 1 {
		t.Errorf("%+v", j)
	}
}
