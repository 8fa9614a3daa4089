package plan

import (
	"maps"
	"math"
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

const (
	mib = int64(1) << 20
	gib = int64(1) << 30

	roundTo       = 16 * mib
	otherRun      = 20       // divides the need: by how much another run of the notebook may go higher
	kernelShare   = 256      // divides the need: Linux's page tables and other data for each page
	kernelBase    = 32 * mib // what Linux needs in addition, whatever the need is
	maxNamedLines = 3        // lines that a plan names
	untouched     = 4        // a line is untouched if its mapped memory is more than so many times its resident memory
	leastMapped   = 16 * mib
)

// sizes are common memory sizes of machines and containers.
var sizes = []int64{gib / 2, gib, 2 * gib, 4 * gib, 8 * gib, 16 * gib, 32 * gib, 64 * gib, 128 * gib, 256 * gib,
	512 * gib, 1024 * gib, 2048 * gib, 4096 * gib}

// Make returns the plan for a notebook, from one or more runs of it.
func Make(runs []*Run) *model.Plan {
	p := &model.Plan{Schema: model.PlanSchema, Runs: []model.PlanRun{}, Demands: []model.Demand{},
		Settings: []model.Setting{}, Doubts: []string{}}
	var meters []string
	for _, r := range runs {
		for _, d := range r.demands {
			if !slices.Contains(meters, d.meter) && (d.figure.Peak > 0 || d.meter == "cpu.resident") {
				meters = append(meters, d.meter)
			}
		}
	}
	for _, m := range meters {
		p.Demands = append(p.Demands, demandOf(runs, m))
	}
	for _, r := range runs {
		run := r.PlanRun
		run.Peaks = []*int64{}
		for _, m := range meters {
			var peak *int64
			if d := r.demand(m); d != nil {
				peak = &d.figure.Peak
			}
			run.Peaks = append(run.Peaks, peak)
		}
		p.Runs = append(p.Runs, run)
	}
	p.Settings = words.Settings(p)
	p.Doubts = doubts(runs, p)
	return p
}

func (r *Run) demand(meter string) *demand {
	for _, d := range r.demands {
		if d.meter == meter {
			return d
		}
	}
	return nil
}

// demandOf returns the need of one kind of memory: the highest over all runs.
func demandOf(runs []*Run, meter string) model.Demand {
	out := model.Demand{Meter: meter, Exact: true, Low: math.MaxInt64, Lines: []model.PlanLine{},
		Untouched: []model.PlanLine{}}
	var most *demand
	bound := int64(0)
	unbounded := slices.ContainsFunc(runs, (*Run).stopped) // the need of the rest is not known
	out.Exact = !unbounded
	for i, r := range runs {
		d := r.demand(meter)
		if d == nil {
			out.Low = 0
			continue
		}
		out.Low = min(out.Low, d.figure.Peak)
		if most == nil || d.figure.Peak > most.figure.Peak {
			most, out.Run = d, i
		}
		if !d.figure.Exact {
			out.Exact = false
			if d.figure.Bound == nil {
				unbounded = true
			} else {
				bound = max(bound, *d.figure.Bound)
			}
		}
	}
	if !unbounded {
		out.Bound = &bound
	}
	out.Need, out.Base = most.figure.Peak, most.base
	out.Parts = partsOf(most)
	out.Margin = margin(&out, runs, bound)
	limit := out.Need
	for _, m := range out.Margin {
		limit += m.Bytes
	}
	out.Limit = (max(limit, 0) + roundTo - 1) / roundTo * roundTo
	if !words.OfGPU(meter) {
		out.Size, out.Smaller = size(out.Limit)
	}
	decide(&out, most)
	return out
}

// partsOf returns the parts of a demand, each with its highest value. These need not have occurred at the same time.
func partsOf(d *demand) []model.PlanPart {
	out := []model.PlanPart{}
	for _, id := range slices.Sorted(maps.Keys(d.parts)) {
		out = append(out, model.PlanPart{Bytes: d.parts[id], Of: words.PartOf(id)})
	}
	return out
}

// margin returns what to add to the highest need of the runs, with the reasons.
func margin(d *model.Demand, runs []*Run, bound int64) []model.PlanPart {
	var out []model.PlanPart
	if spread := d.Need - d.Low; len(runs) > 1 && spread > d.Need/otherRun {
		out = append(out, model.PlanPart{Bytes: spread, Of: words.MarginSpread(len(runs))})
	} else {
		out = append(out, model.PlanPart{Bytes: d.Need / otherRun, Of: words.MarginRuns(len(runs))})
	}
	if !words.OfGPU(d.Meter) {
		out = append(out, besideProcesses(runs, d.Need))
	}
	if bound > 0 {
		out = append(out, model.PlanPart{Bytes: min(bound, math.MaxInt64/4), Of: words.MarginBound})
	}
	return out
}

// besideProcesses returns the margin for what is charged to a container beside its processes' memory: what the runs'
// containers had, but at least a rule of thumb.
func besideProcesses(runs []*Run, need int64) model.PlanPart {
	out := model.PlanPart{Bytes: need/kernelShare + kernelBase, Of: words.MarginKernel}
	for _, r := range runs {
		if r.beyond > out.Bytes {
			out = model.PlanPart{Bytes: r.beyond, Of: words.MarginContainer}
		}
	}
	return out
}

// size returns the smallest common size that holds limit, and the next smaller one; 0 if there is none.
func size(limit int64) (fits, smaller int64) {
	for i, s := range sizes {
		if limit <= s {
			if i > 0 {
				smaller = sizes[i-1]
			}
			return s, smaller
		}
	}
	return 0, sizes[len(sizes)-1]
}
