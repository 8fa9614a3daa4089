package plan

import (
	"cmp"
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// decide fills in the cell that decides the need, the lines that matter in this cell, and by how much the need would
// fall without them.
func decide(out *model.Demand, d *demand) {
	if len(d.top) == 0 || d.between > d.top[0].peak {
		return
	}
	first, next := d.deciding()
	out.At = placeAt(first)
	if next != nil {
		out.Next = placeAt(next)
	}
	var lines []model.PlanLine
	for at, s := range first.lines {
		if at == (place{}) {
			continue
		}
		l := lineFor(d, first, at, s)
		if !words.OfGPU(d.meter) && l.AtPeak >= leastMapped && l.AtPeak > untouched*l.Resident {
			out.Untouched = append(out.Untouched, l)
		}
		if l.Resident > 0 {
			lines = append(lines, l)
		}
	}
	heavier := func(a, b model.PlanLine) int {
		return cmp.Or(cmp.Compare(b.Fall, a.Fall), cmp.Compare(b.Resident, a.Resident), cmp.Compare(b.AtPeak, a.AtPeak),
			cmp.Compare(a.Execution, b.Execution),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.File, b.File), cmp.Compare(a.Function, b.Function))
	}
	slices.SortFunc(lines, heavier)
	slices.SortFunc(out.Untouched, func(a, b model.PlanLine) int {
		return cmp.Or(cmp.Compare(b.AtPeak, a.AtPeak), heavier(a, b))
	})
	out.Untouched = out.Untouched[:min(len(out.Untouched), maxNamedLines)]
	out.Lines = append(out.Lines, lines[:min(len(lines), maxNamedLines)]...)
	out.Together = together(out, d)
}

// nextToNothing divides a peak: a cell that rose by less than this share did not cause the peak. Reports use the same
// share.
const nextToNothing = 100

func isNextToNothing(rise, peak int64) bool { return rise < peak/nextToNothing }

// deciding returns the cell that caused the highest moment, and the next-highest cell that rose; nil if there is none.
// If the highest cell rose by next to nothing, the cause is the first cell before it that rose to almost the same
// height.
func (d *demand) deciding() (first, next *highWindow) {
	highest := d.top[0]
	first = highest
	for _, t := range d.top[1:] {
		if isNextToNothing(highest.need, highest.peak) && t.pid == highest.pid && t.id < first.id &&
			!isNextToNothing(t.need, highest.peak) && isNextToNothing(highest.peak-t.peak, highest.peak) {
			first = t
		}
	}
	for _, t := range d.top {
		if t != first && (next == nil || isNextToNothing(next.need, next.peak) && !isNextToNothing(t.need, t.peak)) {
			next = t
		}
	}
	return first, next
}

// together returns the set of lines that saves most. Each line is described at the cell where it has the most memory.
func together(out *model.Demand, d *demand) *model.PlanSet {
	if d.set == nil {
		return nil
	}
	s := &model.PlanSet{Fall: d.set.fall, Peak: out.Need - d.set.fall, Then: d.set.then}
	for _, at := range d.set.lines {
		var most *highWindow
		for _, t := range slices.Concat(d.top, d.high) {
			if has := t.lines[at]; has != nil && (most == nil || has.touched > most.lines[at].touched) {
				most = t
			}
		}
		s.Lines = append(s.Lines, lineFor(d, most, at, most.lines[at]))
	}
	return s
}

func placeAt(t *highWindow) *model.PlanPlace {
	return &model.PlanPlace{PID: t.pid, Kernel: t.kernel, Execution: t.run, ExecutionCount: t.count, Line: t.best.line,
		Source: lineOfText(t.source, max(t.best.line, 1)), Peak: t.peak, Children: t.children}
}

func lineFor(d *demand, t *highWindow, at place, s *lineMemory) model.PlanLine {
	l := model.PlanLine{PlanPlace: model.PlanPlace{PID: t.pid, Kernel: t.kernel, Execution: at.execution,
		ExecutionCount: s.count, Line: at.line, File: at.file, Function: at.function, Source: s.source},
		Meter: d.rank, AtPeak: max(s.blocks,
			s.mapped), Resident: s.touched, Within: s.within, Fall: d.alone[at].fall, Then: d.alone[at].then}
	if !words.OfGPU(d.rank) {
		l.Meter = "cpu.mapped"
	}
	return l
}
