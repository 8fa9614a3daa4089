package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"ipytracer/model"
)

// encoder writes the frequent items of a long session, as [json.Encoder] would, but without reflection and with little
// memory of its own: in a tenth of the time.
type encoder struct {
	tables *tables
	b      []byte // the present item
	keys   []string
	err    error
}

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

// any writes any value, as encoding/json does.
func (e *encoder) any(v any) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		if e.err == nil {
			e.err = err
		}
		return
	}
	e.b = append(e.b, asciiEscapes(bytes.TrimSuffix(b.Bytes(), []byte("\n")))...)
}

func (e *encoder) raw(s string) { e.b = append(e.b, s...) }

// The fields of an object: before is the text in front of the value, with the name.

func (e *encoder) int(before string, n int64) { e.b = strconv.AppendInt(append(e.b, before...), n, 10) }

func (e *encoder) truth(before string, v bool) { e.b = strconv.AppendBool(append(e.b, before...), v) }

func (e *encoder) text(before, s string) {
	e.raw(before)
	e.string(s)
}

// Fields that are left out if empty.

func (e *encoder) intIfAny(before string, n int64) {
	if n != 0 {
		e.int(before, n)
	}
}

func (e *encoder) truthIfAny(before string, v bool) {
	if v {
		e.truth(before, v)
	}
}

func (e *encoder) textIfAny(before, s string) {
	if s != "" {
		e.text(before, s)
	}
}

func (e *encoder) string(s string) {
	before := len(e.b)
	e.b = append(e.b, '"')
	first := 0
	for i := range len(s) {
		escape := escapes[s[i]]
		switch escape {
		case plainly:
			continue
		case otherwise:
			e.b = e.b[:before]
			e.any(s)
			return
		}
		e.b = append(append(e.b, s[first:i]...), '\\', escape)
		first = i + 1
	}
	e.b = append(append(e.b, s[first:]...), '"')
}

// escapes has, for each byte of a string, the character behind a backslash.
var escapes = func() (all [256]byte) {
	for c := range all {
		if c < ' ' || c >= 0x7f {
			all[c] = otherwise
		}
	}
	all['"'], all['\\'], all['\n'], all['\t'] = '"', '\\', 'n', 't'
	return all
}()

const (
	plainly   = 0 // the byte stands for itself
	otherwise = 1 // encoding/json writes it
)

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

// each iterates over a map in the order of JSON, and writes the separators of its members.
func each[V any](e *encoder, before string, all map[string]V, write func(*encoder, V)) {
	e.raw(before)
	e.keys = e.keys[:0]
	for key := range all {
		e.keys = append(e.keys, key)
	}
	slices.Sort(e.keys)
	separator := "{"
	for _, key := range e.keys {
		e.text(separator, key)
		write(e, all[key])
		separator = ","
	}
	if len(all) == 0 {
		e.raw("{")
	}
	e.raw("}")
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
