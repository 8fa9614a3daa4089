package plan

import (
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// needTolerance divides the plan's need: the need of a trial's notebook may differ by this share.
const needTolerance = 10

// AddTried adds to a plan the needs after the best change of a trial: a change that kept all results and that certainly
// lowers a need. The trial may be of another notebook. So if its need differs from the plan's by more than a tenth,
// AddTried adds a doubt instead.
func AddTried(p *model.Plan, t *model.Trial) {
	best := t.Best()
	if best == nil {
		p.Doubts = append(p.Doubts, words.NoTriedChange())
		return
	}
	for i := range p.Demands {
		d := &p.Demands[i]
		at := slices.IndexFunc(best.Saved, func(s model.TrialSaving) bool { return s.Meter == d.Meter })
		if at < 0 || len(best.Saved[at].Before) == 0 {
			continue
		}
		s := &best.Saved[at]
		before := slices.Max(s.Before)
		if s.Certain <= 0 || s.Certain > before {
			continue
		}
		if before > d.Need+d.Need/needTolerance || before < d.Need-d.Need/needTolerance {
			p.Doubts = append(p.Doubts, words.OtherWorkTried(before, d.Meter, d.Need))
			continue
		}
		need := max(0, d.Need-s.Certain)
		p.Tried = append(p.Tried, model.PlanTried{
			Meter: d.Meter, Change: best.Name, Advice: append([]int{}, best.Advice...), Runs: t.Runs, Saves: s.Certain,
			Need: need, Limit: (need + (d.Limit - d.Need) + roundTo - 1) / roundTo * roundTo, Exact: s.Exact && d.Exact,
		})
	}
}
