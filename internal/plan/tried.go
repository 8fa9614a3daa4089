package plan

import (
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// alike is the share by which a trial's notebook may need more or less than the plan's: 1/alike.
const alike = 10

// AddTried adds to a plan the needs with the change that a trial found best: one that kept all results, and lowers a
// need for certain. The trial may come from any source. A need that the trial's notebook does not have, within a tenth,
// stays without; a doubt says so.
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
		if before > d.Need+d.Need/alike || before < d.Need-d.Need/alike {
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
