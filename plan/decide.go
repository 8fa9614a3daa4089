package plan

import (
	"cmp"
	"slices"

	"ipytracer/model"
	"ipytracer/words"
)

// decide says which cell decides how much is needed, which lines matter there, and how much lower it would be without them.
func decide(out *model.Demand, d *demand) {
	out.Without = out.Need
	if len(d.top) == 0 || d.gap > d.top[0].peak {
		return
	}
	first := d.top[0]
	out.At = placeOf(first)
	if len(d.top) > 1 {
		out.Next = placeOf(d.top[1])
	}
	var all []model.PlanLine
	for at, s := range first.lines {
		if at == (place{}) {
			continue
		}
		l := lineFor(d, first, at, s)
		if !words.OfGPU(d.meter) && l.AtPeak >= notMuch && l.AtPeak > untouched*l.Resident {
			out.Untouched = append(out.Untouched, l)
		}
		l.Fall = d.fall([]place{at})
		if l.Resident > 0 {
			all = append(all, l)
		}
	}
	heavier := func(a, b model.PlanLine) int {
		return cmp.Or(cmp.Compare(b.Fall, a.Fall), cmp.Compare(b.Resident, a.Resident), cmp.Compare(b.AtPeak, a.AtPeak), cmp.Compare(a.Execution, b.Execution),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.File, b.File), cmp.Compare(a.Function, b.Function))
	}
	slices.SortFunc(all, heavier)
	slices.SortFunc(out.Untouched, func(a, b model.PlanLine) int { return cmp.Or(cmp.Compare(b.AtPeak, a.AtPeak), heavier(a, b)) })
	out.Untouched = out.Untouched[:min(len(out.Untouched), mattering)]
	out.Lines = append(out.Lines, all[:min(len(all), mattering)]...)
	var without []place
	for _, l := range out.Lines {
		without = append(without, place{l.Execution, l.Line, l.File, l.Function})
	}
	out.Without = out.Need - d.fall(without)
}

// fall is by how much the highest moment would be lower without what some lines had, given the other cells: those that are known by their
// lines, and how high all others went.
func (d *demand) fall(without []place) int64 {
	highest := max(d.more, d.spike)
	for _, t := range d.top {
		peak := t.peak
		for _, at := range without {
			if s := t.lines[at]; s != nil {
				peak -= s.touched
			}
		}
		highest = max(highest, peak)
	}
	return max(0, d.top[0].peak-highest)
}

func placeOf(t *top) *model.PlanPlace {
	return &model.PlanPlace{PID: t.pid, Execution: t.run, ExecutionCount: t.count, Line: t.best.line, Source: lineOfText(t.source, max(t.best.line, 1)), Peak: t.peak, Children: t.children}
}

func lineFor(d *demand, t *top, at place, s *share) model.PlanLine {
	l := model.PlanLine{PlanPlace: model.PlanPlace{PID: t.pid, Execution: at.execution, ExecutionCount: s.count, Line: at.line, File: at.file, Function: at.function, Source: s.source},
		Meter: d.rank, AtPeak: max(s.blocks, s.mapped), Resident: s.touched, Within: s.within}
	if !words.OfGPU(d.rank) {
		l.Meter = "cpu.mapped"
	}
	return l
}
