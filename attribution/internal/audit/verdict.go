package audit

import (
	"strings"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/freeing"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// verdict returns the verdict on what was found, with its words.
func (j *judge) verdict(key verdictKey, f *verdictInWork) model.Verdict {
	v := f.Verdict
	v.Kind, v.Meter, v.PID = key.kind, key.meter.String(), int(key.pid)
	v.Kernel = windows.KernelAbove(j.t.Processes.ByPID, key.pid)
	v.Bytes, v.Count = int64(f.portion.bytes), f.portion.count
	v.AgeNS = max(int64(j.t.Session.Last-f.portion.oldest), 0)
	v.Holder, v.Probable = f.portion.holder.Path, f.portion.holder.Probable
	if key.kind == model.Waits {
		v.Holder, v.Probable = "", v.Probable || f.portion.holder.Garbage == event.GarbageYoung
	}
	if v.Stack == nil {
		v.Stack = []model.Frame{}
	}
	v.Executions, v.ExecutionCounts = f.portion.executions()
	facts := f.facts(key)
	switch key.kind {
	case model.RerunGrowth:
		// of several sites together
		if v.Growth = growthOf(j.runs[runKey{key.pid, windows.DigestOf(key.text)}], f.portion.runs); v.Growth == nil {
			v.Growth = &model.Growth{}
		}
	case model.HeldByOutput:
		if cell := j.shownBy(int32(v.PID), f.portion.holder.Output); cell != nil {
			v.Change, facts.Shown = lineIn(cell, cell.LastLine), windows.CellName(cell)
		}
	case model.HeldByTraceback:
		if cell := raisedBy(j, key, f); cell != nil {
			v.Change, facts.Raised = lineIn(cell, cell.LastLine), windows.CellName(cell)
		}
	case model.HeldByView:
		v.View = viewOf(j, key, f)
	case model.ChildAlive, model.IdlePool:
		v.Command, v.PIDs = words.Bounded(f.command, 200), f.children
	}
	if v.Change == nil && key.kind != model.Waits { // nothing has to change for garbage that waits
		v.Change = f.placeOf(v.Stack)
	}
	v.Fix = fixOf(key, f)
	if g := j.views.groups[viewKey{key.pid, key.holder}]; g != nil && key.kind == model.HeldByView {
		v.Fix = freeing.OfViews(g.viewers, g.collect)
		facts.First, _, _ = strings.Cut(v.Fix, "\n")
	}
	v.Evidence, v.Advice = words.Verdict(&v, facts)
	return v
}

// facts returns the facts from which package words writes the verdict.
func (f *verdictInWork) facts(key verdictKey) words.Found {
	holder := f.portion.holder
	by := holder.Kind
	if key.kind == model.HeldAfterWindow {
		by = f.kind
	}
	waste := ""
	if f.kind == event.HeldByCycle || f.kind == event.HeldByNone || f.kind == heldWaiting {
		waste = string(holder.Garbage)
	}
	breaks, name := freeing.Breaks(holder.Lost)
	object, hides := "", ""
	if lost := holder.Lost; lost != nil && len(lost.Cuts) > 0 {
		object, hides = lost.Type, lost.Cuts[0].Type
	}
	return words.Found{
		Breaks: breaks, Name: name, Object: object, Hides: hides,
		By: string(by), Asked: holder.Address != 0, Root: freeing.RootOf(holder), Function: holder.Function,
		Until: windows.CellName(f.release), GapNS: int64(f.gap), EndedBy: f.endedBy, Unseen: f.unseen, Garbage: waste,
		Cyclic: f.portion.ways.IsCyclic(), Failed: f.portion.failed == f.portion.bytes,
		Reserved: int64(f.reserved), Grown: int64(f.grown),
	}
}

// placeOf returns the place of the allocation in the latest run of its cell, nil if no cell ran.
func (f *verdictInWork) placeOf(stack []model.Frame) *model.Place {
	var latest *windows.Window
	for cell := range f.portion.runs {
		if cell != nil && (latest == nil || cell.Execution > latest.Execution) {
			latest = cell
		}
	}
	if latest == nil {
		return nil
	}
	p := lineIn(latest, 0)
	if n := len(stack); n > 0 && stack[n-1].Execution > 0 {
		p.Line = latest.LineOf(stack[n-1].Line)
	}
	return p
}

func lineIn(cell *windows.Window, line int) *model.Place {
	return &model.Place{Execution: cell.Execution, ExecutionCount: max(cell.Count, 0), Line: cell.LineOf(line)}
}
