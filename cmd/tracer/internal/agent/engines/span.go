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

// Names of spans and events. They are few, because engines make a time series of each name.
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
		r.setStatus(s.Status)
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
		a.raw("ipytracer.task.cell", r.submittedBy)
		a.int("ipytracer.task.pid", int64(r.cell.PID))
	}
	if r.ending != nil {
		r.addEnding(s, &a)
	}
	s.Attributes = a
	return s
}

// addEnding adds the kernel's end to a span: as an event to a cell's span, else as attributes.
func (r *spanRecord) addEnding(s *tracepb.Span, a *attributes) {
	setFailed(s.Status, r.ending)
	if r.kind != ofCell {
		a.ending(r.ending)
		return
	}
	var ofEvent attributes
	ofEvent.ending(r.ending)
	s.Events = append(s.Events, &tracepb.Span_Event{Name: endName, TimeUnixNano: nano(r.ended), Attributes: ofEvent})
}

// maxNote is the greatest length of a cell's note, in bytes.
const maxNote = 4 * telemetry.MaxLabel

// sampled is the W3C flag of a trace that is kept.
const sampled = 1

// nano returns a time in ns since 1970, 0 for an earlier time.
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
		a.bool("ipytracer.silent", true)
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
		a.bool("ipytracer.source_truncated", w.SourceTruncated || !whole)
	}
}

// setStatus sets the status of a span by that of its cell.
func (r *spanRecord) setStatus(s *tracepb.Status) {
	switch telemetry.Outcome(&r.cell) {
	case model.OK:
		s.Code = tracepb.Status_STATUS_CODE_OK
	case model.Error, model.Interrupted:
		s.Code, s.Message = tracepb.Status_STATUS_CODE_ERROR, r.cell.Error
	}
}

// setFailed sets the status of a span to an error, unless the kernel ended normally.
func setFailed(s *tracepb.Status, e *model.Ending) {
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

// refusal returns the event of a refused request for memory.
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

// origin is what all resources of an agent have in common.
type origin struct {
	config *Spans
	host   string
	scope  *commonpb.InstrumentationScope
	users  func() bool
}

// resource returns the OTLP resource of a kernel.
func (o *origin) resource(k *telemetry.Kernel) *resourcepb.Resource {
	var a attributes
	a.raw("service.name", "ipytracer")
	a.text("host.name", o.host)
	a.kernel(k, o.users())
	for _, name := range slices.Sorted(maps.Keys(o.config.Resource)) {
		value := &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: o.config.Resource[name]}}
		if !a.replace(name, value) {
			a.add(name, value)
		}
	}
	return &resourcepb.Resource{Attributes: a}
}

// replace gives an attribute another value, and reports whether it was there.
func (a attributes) replace(key string, v *commonpb.AnyValue) bool {
	for _, attribute := range a {
		if attribute.Key == key {
			attribute.Value = v
			return true
		}
	}
	return false
}

// Size returns the size of a cell's span in bytes, without its source, its resource and compression.
func Size(c *telemetry.Cell) int {
	return proto.Size(spanRecordOf(c, false).span(telemetry.TraceID{1}))
}

// kindOfRecord is what a record is about.
type kindOfRecord uint8

const (
	ofKernel kindOfRecord = iota // the end of a kernel
	ofCell
	ofTask
)

// spanRecord is a cell, a task, or the end of a kernel outside of cells, that waits to be sent. It has no lists that a
// kernel can make long, so that a waiting record takes a few kilobytes.
type spanRecord struct {
	kernel       *telemetry.Kernel
	id           telemetry.SpanID
	began, ended time.Time
	ending       *model.Ending // nil if the kernel goes on
	kind         kindOfRecord
	cell         model.Window // of a cell or a task; without children, allocations and lists
	children     int
	chosenTrace  telemetry.TraceID      // of a cell: the trace that its notebook has chosen; zero for none
	parent       telemetry.TraceContext // of a task; zero for none
	prefix       string                 // of a task: the prefix of its key
	submittedBy  string                 // of a task: the cell that submitted it
}

// maxRefusals is the most refused requests for memory in a cell's span.
const maxRefusals = 8

func spanRecordOf(c *telemetry.Cell, withSource bool) *spanRecord {
	r := &spanRecord{kernel: c.Kernel, id: c.SpanID, began: c.Began, ended: c.Ended, ending: c.Ending,
		kind: ofCell, chosenTrace: c.TraceID}
	r.setWindow(c.Window)
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
		parent: t.Parent, prefix: text(t.Prefix), submittedBy: text(t.Cell)}
	r.setWindow(t.Window)
	return r
}

// setWindow sets the record's window to a copy without lists.
func (r *spanRecord) setWindow(w *model.Window) {
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
