package plan_test

import (
	"testing"

	"ipytracer/internal/plan"
	"ipytracer/model"
)

// TestTrialsSavingIsTakenOver: a plan takes over what a trial saved for certain, of the same notebook, with its results
// kept; and nothing else, whatever a trial says.
func TestTrialsSavingIsTakenOver(t *testing.T) {
	const mib = int64(1) << 20
	demands := func() *model.Plan {
		return &model.Plan{Demands: []model.Demand{
			{Meter: "cpu.resident", Need: 1000 * mib, Limit: 1120 * mib, Exact: true},
			{Meter: "gpu.0.driver", Need: 500 * mib, Limit: 512 * mib},
		}}
	}
	trial := func(passed bool, before, after int64) *model.Trial {
		return &model.Trial{Runs: 2, Variants: []model.TrialVariant{{
			Name: "advice 1 and 3", Advice: []int{1, 3}, Passed: passed,
			Saved: []model.TrialSaving{{
				Meter: "cpu.resident", Before: []int64{before * mib, (before + 5) * mib},
				After: []int64{after * mib}, Exact: true, Certain: (before - after) * mib,
			}},
		}}}
	}
	p := demands()
	plan.AddTried(p, trial(true, 990, 590))
	if len(p.Tried) != 1 || len(p.Doubts) != 0 {
		t.Fatalf("%+v, %q", p.Tried, p.Doubts)
	}
	if got := p.Tried[0]; got.Meter != "cpu.resident" || got.Need != 600*mib || got.Limit != 720*mib || !got.Exact ||
		got.Saves != 400*mib || got.Change != "advice 1 and 3" {
		t.Errorf("%+v", got)
	}
	absurd := trial(true, 990, 590)
	absurd.Variants[0].Saved[0].Certain = 1 << 62
	none := trial(true, 990, 590)
	none.Variants[0].Saved[0].Before = nil
	for name, c := range map[string]struct {
		trial  *model.Trial
		doubts int
	}{
		"results differ": {trial(false, 990, 590), 1}, "another notebook": {trial(true, 90, 30), 1},
		"no saving": {trial(true, 990, 995), 1}, "nothing": {&model.Trial{}, 1}, "more than there was": {absurd, 0},
		"no runs": {none, 0},
	} {
		p := demands()
		plan.AddTried(p, c.trial)
		if len(p.Tried) != 0 || len(p.Doubts) != c.doubts {
			t.Errorf("%s: %+v, %q", name, p.Tried, p.Doubts)
		}
	}
}
