package report

import "ipytracer/model"

// item writes an item of a list: the frequent ones itself, others by reflection.
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

// The methods below write the fields of one type, in the order of its struct.

func (e *encoder) window(cell *model.Window) {
	e.int(`{"id":`, int64(cell.ID))
	e.int(`,"parent":`, int64(cell.Parent))
	e.text(`,"kind":`, cell.Kind)
	e.int(`,"pid":`, int64(cell.PID))
	e.textIfAny(`,"kernel":`, cell.Kernel)
	e.int(`,"execution":`, int64(cell.Execution))
	if cell.ExecutionCount == nil {
		e.raw(`,"execution_count":null`)
	} else {
		e.int(`,"execution_count":`, int64(*cell.ExecutionCount))
	}
	e.truth(`,"silent":`, cell.Silent)
	e.text(`,"name":`, cell.Name)
	e.int(`,"line":`, int64(cell.Line))
	e.text(`,"source":`, cell.Source)
	e.truth(`,"source_truncated":`, cell.SourceTruncated)
	e.text(`,"status":`, cell.Status)
	e.textIfAny(`,"error":`, cell.Error)
	e.textIfAny(`,"note":`, cell.Note)
	e.int(`,"start_ns":`, cell.StartNS)
	e.int(`,"duration_ns":`, cell.DurationNS)
	e.int(`,"cpu_ns":`, cell.CPUNS)
	e.counters(cell.Counters)
	e.container(cell.Container)
	if s := cell.Swapped; s != nil {
		e.int(`,"swapped":{"start":`, s.Start)
		e.int(`,"end":`, s.End)
		e.raw("}")
	}
	e.figures(`,"meters":`, cell.Meters)
	if len(cell.Tree) > 0 {
		e.figures(`,"tree":`, cell.Tree)
	}
	e.children(cell.Children)
	e.intIfAny(`,"children_unlisted":`, int64(cell.ChildrenUnlisted))
	e.intIfAny(`,"lost_statements":`, cell.LostStatements)
	e.intIfAny(`,"lost_markers":`, cell.LostMarkers)
	if cell.Foreign != nil {
		e.raw(`,"foreign":`)
		e.any(cell.Foreign)
	}
	if cell.Suspended != nil {
		e.raw(`,"suspended":`)
		e.any(cell.Suspended)
	}
	e.coverage(cell.Coverage)
	e.refused(cell.Refused)
	e.allocations(cell.Allocations)
	e.raw("}")
}

func (e *encoder) counters(c *model.Counters) {
	if c == nil {
		return
	}
	e.raw(`,"counters":{`)
	for i, counter := range c.All() {
		e.int(comma(i)+`"`+counter.Name+`":`, counter.Count)
	}
	e.raw("}")
}

// container writes the memory of a window's container, if it is known.
func (e *encoder) container(c *model.Container) {
	if c == nil {
		return
	}
	e.int(`,"container":{"at_least":`, c.AtLeast)
	e.intIfAny(`,"highest":`, c.Highest)
	e.truth(`,"exact":`, c.Exact)
	e.int(`,"bound":`, c.Bound)
	e.intIfAny(`,"limit":`, c.Limit)
	e.int(`,"start":`, c.Start)
	e.int(`,"end":`, c.End)
	if p := c.Parts; p != nil {
		e.int(`,"parts":{"anon":`, p.Anon)
		e.int(`,"file":`, p.File)
		e.int(`,"shmem":`, p.Shmem)
		e.int(`,"kernel":`, p.Kernel)
		e.raw("}")
	}
	e.raw("}")
}

func (e *encoder) children(children []model.Child) {
	e.raw(`,"children":[`)
	for i := range children {
		child := &children[i]
		e.int(comma(i)+`{"pid":`, int64(child.PID))
		e.text(`,"command":`, child.Command)
		e.figures(`,"meters":`, child.Meters)
		if len(child.Shared) > 0 {
			each(e, `,"shared":`, child.Shared, func(e *encoder, n int64) { e.int(":", n) })
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
		e.raw(`,"bound":null`)
	} else {
		e.int(`,"bound":`, *f.Bound)
	}
	e.textIfAny(`,"accuracy":`, f.Accuracy)
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
		e.intIfAny(`,"sampled_error":`, c.SampledError)
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
	e.raw(`,"allocations":[`)
	for i := range all {
		allocation := &all[i]
		e.text(comma(i)+`{"meter":`, allocation.Meter)
		e.int(`,"allocated":`, allocation.Allocated)
		e.int(`,"freed":`, allocation.Freed)
		e.int(`,"net":`, allocation.Net)
		e.int(`,"at_peak":`, allocation.AtPeak)
		e.int(`,"count":`, allocation.Count)
		e.truthIfAny(`,"sampled":`, allocation.Sampled)
		e.int(`,"stack":`, int64(e.tables.stack(allocation.Stack, allocation.StackTruncated)))
		e.raw("}")
	}
	e.raw("]")
}

func (e *encoder) between(gap *model.Between) {
	e.int(`{"pid":`, int64(gap.PID))
	e.textIfAny(`,"kernel":`, gap.Kernel)
	e.int(`,"after":`, int64(gap.After))
	e.int(`,"before":`, int64(gap.Before))
	e.text(`,"label":`, gap.Label)
	e.textIfAny(`,"note":`, gap.Note)
	e.int(`,"start_ns":`, gap.StartNS)
	e.int(`,"duration_ns":`, gap.DurationNS)
	e.figures(`,"meters":`, gap.Meters)
	if len(gap.Tree) > 0 {
		e.figures(`,"tree":`, gap.Tree)
	}
	e.refused(gap.Refused)
	e.raw("}")
}

func (e *encoder) stack(s *extent) {
	e.raw(`{"frames":[`)
	for i, call := range e.tables.callsOf(s) {
		e.int(comma(i), int64(call))
	}
	e.raw("]")
	e.truthIfAny(`,"truncated":`, s.truncated)
	e.raw("}")
}

func (e *encoder) frame(call *model.Frame) {
	e.text(`{"function":`, call.Function)
	e.text(`,"file":`, call.File)
	e.int(`,"line":`, int64(call.Line))
	e.truthIfAny(`,"native":`, call.Native)
	e.textIfAny(`,"module":`, call.Module)
	e.intIfAny(`,"execution":`, int64(call.Execution))
	if call.ExecutionCount != nil {
		e.int(`,"execution_count":`, int64(*call.ExecutionCount))
	}
	e.textIfAny(`,"kernel":`, call.Kernel)
	e.raw("}")
}

// track writes the points of a track as columns. A time or value is the difference from that of the point before,
// because these are mostly small.
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
