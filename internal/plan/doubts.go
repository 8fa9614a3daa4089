package plan

import (
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// maxReasons bounds the reasons that are listed for each run.
const maxReasons = 8

// cut is the value of Finished for a recording that was cut.
const cut = "recording cut"

// doubts returns the reasons why the notebook may need more than the plan says.
func doubts(runs []*Run, p *model.Plan) []string {
	out := []string{}
	add := func(d words.Doubt) { out = append(out, d.String()) }
	for i, r := range runs {
		name := words.Recording(i, len(runs))
		for _, d := range r.doubts() {
			d.Run = name
			add(d)
		}
	}
	for i := range p.Demands {
		d := &p.Demands[i]
		if d.Bound == nil {
			add(words.Doubt{Kind: words.LowerBound, Text: d.Meter})
		}
		if d.At == nil && runs[d.Run].Cells > 0 {
			add(words.Doubt{Kind: words.BetweenCells, Text: d.Meter})
		}
	}
	if len(runs) > 1 && differ(runs) {
		add(words.Doubt{Kind: words.OtherMachines})
	}
	return out
}

// stopped reports whether a run ended before its notebook did, so that memory might have risen further: the recording
// was cut, the OOM killer ended a process, or a signal ended a process within a cell.
func (r *Run) stopped() bool {
	return r.Finished == cut || r.killed ||
		slices.ContainsFunc(r.ended, func(d words.Doubt) bool { return d.Kind == words.KilledForMemory })
}

// doubts returns the doubts about one recording.
func (r *Run) doubts() (all []words.Doubt) {
	add := func(d words.Doubt) { all = append(all, d) }
	if r.Finished == cut {
		add(words.Doubt{Kind: words.WasCut})
	}
	if r.Cells == 0 {
		add(words.Doubt{Kind: words.NoCells})
	}
	if r.Failed > 0 {
		add(words.Doubt{Kind: words.CellsFailed, Count: r.Failed})
	}
	if r.late {
		add(words.Doubt{Kind: words.LateNeed})
	}
	all = append(all, r.ended...)
	for k, text := range r.reasons {
		if k == maxReasons {
			add(words.Doubt{Kind: words.MoreNotComplete, Count: len(r.reasons) - k})
			break
		}
		add(words.Doubt{Kind: words.NotComplete, Text: text})
	}
	return all
}

func differ(runs []*Run) bool {
	first := runs[0].Host
	return slices.ContainsFunc(runs, func(r *Run) bool {
		return r.Host.Name != first.Name || r.Host.Kernel != first.Kernel || r.Host.CPUs != first.CPUs
	})
}
