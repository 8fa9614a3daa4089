package engines

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/internal/report/escape"
	"ipytracer/model"
)

// Names of spans and events. They are few: engines make time series of them.
const (
	cellName    = "cell"
	taskName    = "dask task"
	endName     = "kernel end"
	refusedName = "memory refused"
)

// span returns a record as a span of a trace.
func (r *spanRecord) span(trace telemetry.TraceID) *tracepb.Span {
	s := &tracepb.Span{
		TraceId: trace[:], SpanId: r.id[:], Name: endName, Kind: tracepb.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: nano(r.began), EndTimeUnixNano: nano(r.ended), Status: &tracepb.Status{},
		Flags: uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK) | sampled,
	}
	var a attributes
	switch r.kind {
	case ofCell:
		s.Name = cellName
		r.describe(&a)
		r.judge(s.Status)
		for i := range r.cell.Refused {
			s.Events = append(s.Events, refusal(&r.cell.Refused[i], r.ended))
		}
	case ofTask:
		s.Name = taskName
		if p := r.parent.SpanID; p != (telemetry.SpanID{}) {
			s.ParentSpanId = p[:]
			s.Flags |= uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
		}
		r.describe(&a)
		a.raw("ipytracer.task.prefix", r.prefix)
		a.raw("ipytracer.task.cell", r.of)
		a.int("ipytracer.task.pid", int64(r.cell.PID))
	}
	if r.ending != nil {
		fails(s.Status, r.ending)
		if r.kind == ofCell {
			var of attributes
			of.ending(r.ending)
			s.Events = append(s.Events, &tracepb.Span_Event{Name: endName, TimeUnixNano: nano(r.ended), Attributes: of})
		} else {
			a.ending(r.ending)
		}
	}
	s.Attributes = a
	return s
}

// maxNote is the greatest length of a cell's note.
const maxNote = 4 * telemetry.MaxLabel

// sampled is the flag of a trace that is kept.
const sampled = 1

// nano returns a time as OTLP has it. One before 1970 is 1970.
func nano(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

// describe adds the attributes of a cell.
func (r *spanRecord) describe(a *attributes) {
	w := &r.cell
	if w.ExecutionCount != nil {
		a.int("ipytracer.execution_count", int64(*w.ExecutionCount))
	}
	a.raw("ipytracer.status", telemetry.Outcome(w))
	a.raw("error.type", w.Error)
	a.raw("ipytracer.note", strings.ToValidUTF8(escape.Bounded(w.Note, maxNote), "?"))
	if w.Silent {
		a.truth("ipytracer.silent", true)
	}
	if _, known := w.Together(telemetry.Resident); known {
		a.int("ipytracer.need", telemetry.Need(w))
	}
	a.figures("ipytracer.", w.Meters)
	a.figures("ipytracer.tree.", w.Tree)
	if w.CPUNS >= 0 {
		a.int("ipytracer.cpu_ns", w.CPUNS)
	}
	a.int("ipytracer.children", int64(r.children))
	for _, lost := range []struct {
		name string
		n    int64
	}{{"statements", w.LostStatements}, {"markers", w.LostMarkers}} {
		if lost.n != 0 {
			a.int("ipytracer.lost."+lost.name, lost.n)
		}
	}
	if w.Source != "" || w.SourceTruncated {
		shown, whole := source(w.Source)
		a.raw("ipytracer.source", shown)
		a.truth("ipytracer.source_truncated", w.SourceTruncated || !whole)
	}
}

// judge sets the status of a span by that of its cell.
func (r *spanRecord) judge(s *tracepb.Status) {
	switch telemetry.Outcome(&r.cell) {
	case model.OK:
		s.Code = tracepb.Status_STATUS_CODE_OK
	case model.Error, model.Interrupted:
		s.Code, s.Message = tracepb.Status_STATUS_CODE_ERROR, r.cell.Error
	}
}

// fails sets the status of a span by the end of a kernel. A kernel may end as it should.
func fails(s *tracepb.Status, e *model.Ending) {
	switch {
	case e.OutOfMemory:
		s.Message = "killed: out of memory"
	case e.Signal != "":
		s.Message = "ended by " + text(e.Signal)
	case e.ExitStatus != nil && *e.ExitStatus != 0:
		s.Message = fmt.Sprintf("exit status %d", *e.ExitStatus)
	default:
		return
	}
	s.Code = tracepb.Status_STATUS_CODE_ERROR
}

// refusal returns a refused request for memory as an event.
func refusal(r *model.Refusal, at time.Time) *tracepb.Span_Event {
	var a attributes
	a.text("ipytracer.meter", r.Meter)
	a.int("ipytracer.asked", r.Asked)
	a.int("ipytracer.held", r.Held)
	a.int("ipytracer.count", int64(r.Count))
	if r.Limit != 0 {
		a.int("ipytracer.limit", r.Limit)
	}
	return &tracepb.Span_Event{Name: refusedName, TimeUnixNano: nano(at), Attributes: a}
}

// origin describes who sends spans.
type origin struct {
	config *Spans
	host   string
	scope  *commonpb.InstrumentationScope
	users  func() bool
}

// resource describes a kernel, as the source of its spans.
func (o *origin) resource(k *telemetry.Kernel) *resourcepb.Resource {
	var all attributes
	all.raw("service.name", "ipytracer")
	all.text("host.name", o.host)
	all.of(k, o.users())
	for _, name := range slices.Sorted(maps.Keys(o.config.Resource)) {
		value := &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: o.config.Resource[name]}}
		if !all.replace(name, value) {
			all.add(name, value)
		}
	}
	return &resourcepb.Resource{Attributes: all}
}

// replace gives an attribute another value, and reports whether it was there.
func (a attributes) replace(key string, v *commonpb.AnyValue) bool {
	for _, one := range a {
		if one.Key == key {
			one.Value = v
			return true
		}
	}
	return false
}

// Size returns the number of bytes of a cell's span, before it is compressed and without what its batch shares. Its
// source is not in it.
func Size(c *telemetry.Cell) int {
	return proto.Size(spanRecordOf(c, false).span(telemetry.TraceID{1}))
}

// kindOfRecord is what a record is about.
type kindOfRecord uint8

const (
	ofKernel kindOfRecord = iota // the end of one
	ofCell
	ofTask
)

// spanRecord is a cell, a task, or the end of a kernel without a cell, that waits to be sent. It has no lists of a
// kernel's making: what waits takes a few kilobytes each.
type spanRecord struct {
	kernel       *telemetry.Kernel
	id           telemetry.SpanID
	began, ended time.Time
	ending       *model.Ending // nil if the kernel goes on
	kind         kindOfRecord
	cell         model.Window // or a task; without children, allocations and lists
	children     int
	chosen       telemetry.TraceID      // of a cell, by its kernel; zero for none
	parent       telemetry.TraceContext // of a task; zero for none
	prefix, of   string                 // of a task: its key's prefix, the cell that submitted it
}

// maxRefusals is the most refused requests of a cell that its span has.
const maxRefusals = 8

func spanRecordOf(c *telemetry.Cell, withSource bool) *spanRecord {
	r := &spanRecord{kernel: c.Kernel, id: c.SpanID, began: c.Began, ended: c.Ended, ending: c.Ending,
		kind: ofCell, chosen: c.TraceID}
	r.take(c.Window)
	switch w := &r.cell; {
	case !withSource:
		w.Source, w.SourceTruncated = "", false
	case len(w.Source) > MaxSource:
		w.Source, w.SourceTruncated = strings.Clone(escape.Prefix(w.Source, MaxSource)), true
	}
	return r
}

func recordOfTask(t *telemetry.Task) *spanRecord {
	r := &spanRecord{kernel: t.Kernel, id: telemetry.NewSpanID(), began: t.Began, ended: t.Ended, kind: ofTask,
		parent: t.Parent, prefix: text(t.Prefix), of: text(t.Cell)}
	r.take(t.Window)
	return r
}

// take copies a window without its lists.
func (r *spanRecord) take(w *model.Window) {
	r.cell = *w
	r.children = len(r.cell.Children) + r.cell.ChildrenUnlisted
	r.cell.Children, r.cell.Allocations, r.cell.Coverage = nil, nil, nil
	r.cell.Refused = append([]model.Refusal(nil), r.cell.Refused[:min(len(r.cell.Refused), maxRefusals)]...)
	for i := range r.cell.Refused {
		r.cell.Refused[i].Stack = nil
	}
	r.cell.Error = text(r.cell.Error)
}

func recordOfDeath(d *telemetry.Death) *spanRecord {
	return &spanRecord{kernel: d.Kernel, id: telemetry.NewSpanID(), began: d.At, ended: d.At, ending: d.Ending}
}
