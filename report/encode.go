package report

import "ipytracer/model"

// item writes an item of a list, in which no list or map may be nil.
func (e *encoder) item(item any) {
	switch x := item.(type) {
	case *model.Window:
		e.window(x)
	case *model.Between:
		e.between(x)
	case *model.Track:
		e.track(x)
	case *extent:
		e.stack(x)
	case *tabledFrame:
		f := e.tables.frameAs(x)
		e.frame(&f)
	default:
		e.any(e.tables.wire(item))
	}
}

// The fields of an object: before is the text in front of the value, with the name.

// Fields that are left out if empty.

func (e *encoder) window(w *model.Window) {
	e.int(`{"id":`, int64(w.ID))
	e.int(`,"parent":`, int64(w.Parent))
	e.text(`,"kind":`, w.Kind)
	e.int(`,"pid":`, int64(w.PID))
	e.textIfAny(`,"kernel":`, w.Kernel)
	e.int(`,"execution":`, int64(w.Execution))
	if w.ExecutionCount == nil {
		e.raw(`,"execution_count":null`)
	} else {
		e.int(`,"execution_count":`, int64(*w.ExecutionCount))
	}
	e.truth(`,"silent":`, w.Silent)
	e.text(`,"name":`, w.Name)
	e.int(`,"line":`, int64(w.Line))
	e.text(`,"source":`, w.Source)
	e.truth(`,"source_truncated":`, w.SourceTruncated)
	e.text(`,"status":`, w.Status)
	e.textIfAny(`,"error":`, w.Error)
	e.textIfAny(`,"note":`, w.Note)
	e.int(`,"start_ns":`, w.StartNS)
	e.int(`,"duration_ns":`, w.DurationNS)
	e.int(`,"cpu_ns":`, w.CPUNS)
	e.counters(w.Counters)
	e.figures(`,"meters":`, w.Meters)
	if len(w.Tree) > 0 {
		e.figures(`,"tree":`, w.Tree)
	}
	e.children(w.Children)
	e.intIfAny(`,"children_unlisted":`, int64(w.ChildrenUnlisted))
	e.intIfAny(`,"lost_statements":`, w.LostStatements)
	e.intIfAny(`,"lost_markers":`, w.LostMarkers)
	if w.Foreign != nil {
		e.raw(`,"foreign":`)
		e.any(w.Foreign)
	}
	if w.Suspended != nil {
		e.raw(`,"suspended":`)
		e.any(w.Suspended)
	}
	e.coverage(w.Coverage)
	e.refused(w.Refused)
	e.allocations(w.Allocations)
	e.raw("}")
}

func (e *encoder) counters(c *model.Counters) {
	if c == nil {
		return
	}
	before := `,"counters":{"`
	for _, one := range c.All() {
		e.int(before+one.Name+`":`, one.Count)
		before = `,"`
	}
	e.raw("}")
}

func (e *encoder) children(all []model.Child) {
	e.raw(`,"children":[`)
	for i := range all {
		if i > 0 {
			e.raw(",")
		}
		e.int(`{"pid":`, int64(all[i].PID))
		e.text(`,"command":`, all[i].Command)
		e.figures(`,"meters":`, all[i].Meters)
		if len(all[i].Shared) > 0 {
			each(e, `,"shared":`, all[i].Shared, func(e *encoder, n int64) { e.int(":", n) })
		}
		e.raw("}")
	}
	e.raw("]")
}

func (e *encoder) figures(before string, all map[string]model.Figure) {
	each(e, before, all, (*encoder).figure)
}

func (e *encoder) figure(f model.Figure) {
	e.int(`:{"start":`, f.Start)
	e.int(`,"peak":`, f.Peak)
	e.int(`,"end":`, f.End)
	e.int(`,"consumed":`, f.Consumed)
	e.int(`,"peaked":`, f.Peaked)
	e.truth(`,"exact":`, f.Exact)
	if f.Bound == nil {
		e.raw(`,"bound":null}`)
		return
	}
	e.int(`,"bound":`, *f.Bound)
	e.raw("}")
}

func (e *encoder) coverage(all map[string]model.Coverage) {
	if len(all) == 0 {
		return
	}
	each(e, `,"coverage":`, all, func(e *encoder, c model.Coverage) {
		e.int(`:{"at_peak":`, c.AtPeak)
		e.intIfAny(`,"unlisted":`, int64(c.Unlisted))
		e.intIfAny(`,"unlisted_at_peak":`, c.UnlistedAtPeak)
		e.intIfAny(`,"unlisted_net":`, c.UnlistedNet)
		e.intIfAny(`,"unlisted_allocated":`, c.UnlistedAllocated)
		e.int(`,"rest":`, c.Rest)
		e.intIfAny(`,"sampled":`, c.Sampled)
		e.truth(`,"exact":`, c.Exact)
		e.raw("}")
	})
}

func (e *encoder) refused(all []model.Refusal) {
	if len(all) > 0 {
		e.raw(`,"refused":`)
		e.any(e.tables.refused(all))
	}
}

func (e *encoder) allocations(all []model.Allocation) {
	if len(all) == 0 {
		return
	}
	separator := `,"allocations":[`
	for i := range all {
		a := &all[i]
		e.raw(separator)
		e.text(`{"meter":`, a.Meter)
		e.int(`,"allocated":`, a.Allocated)
		e.int(`,"freed":`, a.Freed)
		e.int(`,"net":`, a.Net)
		e.int(`,"at_peak":`, a.AtPeak)
		e.int(`,"count":`, a.Count)
		e.truthIfAny(`,"sampled":`, a.Sampled)
		e.int(`,"stack":`, int64(e.tables.stack(a.Stack, a.StackTruncated)))
		e.raw("}")
		separator = ","
	}
	e.raw("]")
}

func (e *encoder) between(b *model.Between) {
	e.int(`{"pid":`, int64(b.PID))
	e.textIfAny(`,"kernel":`, b.Kernel)
	e.int(`,"after":`, int64(b.After))
	e.int(`,"before":`, int64(b.Before))
	e.text(`,"label":`, b.Label)
	e.textIfAny(`,"note":`, b.Note)
	e.int(`,"start_ns":`, b.StartNS)
	e.int(`,"duration_ns":`, b.DurationNS)
	e.figures(`,"meters":`, b.Meters)
	if len(b.Tree) > 0 {
		e.figures(`,"tree":`, b.Tree)
	}
	e.refused(b.Refused)
	e.raw("}")
}

func (e *encoder) stack(s *extent) {
	e.raw(`{"frames":[`)
	separator := ""
	for _, call := range e.tables.callsOf(s) {
		e.int(separator, int64(call))
		separator = ","
	}
	e.raw("]")
	e.truthIfAny(`,"truncated":`, s.truncated)
	e.raw("}")
}

func (e *encoder) frame(f *model.Frame) {
	e.text(`{"function":`, f.Function)
	e.text(`,"file":`, f.File)
	e.int(`,"line":`, int64(f.Line))
	e.truthIfAny(`,"native":`, f.Native)
	e.textIfAny(`,"module":`, f.Module)
	e.intIfAny(`,"execution":`, int64(f.Execution))
	if f.ExecutionCount != nil {
		e.int(`,"execution_count":`, int64(*f.ExecutionCount))
	}
	e.textIfAny(`,"kernel":`, f.Kernel)
	e.raw("}")
}

// track writes columns, in which times and values are differences from the one before: they are many, and most are
// small.
func (e *encoder) track(t *model.Track) {
	e.int(`{"pid":`, int64(t.PID))
	e.text(`,"meter":`, t.Meter)
	e.truthIfAny(`,"tree":`, t.Tree)
	before := int64(0)
	e.raw(`,"elapsed_ns":[`)
	for i := range t.Points {
		e.int(comma(i), t.Points[i].NS-before)
		before = t.Points[i].NS
	}
	before = 0
	e.raw(`],"change":[`)
	for i := range t.Points {
		e.int(comma(i), t.Points[i].Bytes-before)
		before = t.Points[i].Bytes
	}
	e.raw(`],"kinds":"`)
	for i := range t.Points {
		e.b = append(e.b, byte(t.Points[i].Kind))
	}
	e.raw(`"`)
	for i, g := range t.Gaps {
		if i == 0 {
			e.raw(`,"gaps":[`)
		}
		e.int(comma(i)+`{"start_ns":`, g.StartNS)
		e.int(`,"end_ns":`, g.EndNS)
		e.text(`,"reason":`, g.Reason)
		e.raw("}")
	}
	if len(t.Gaps) > 0 {
		e.raw("]")
	}
	e.raw("}")
}
