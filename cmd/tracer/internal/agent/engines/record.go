package engines

import (
	"strings"
	"time"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/internal/report/escape"
	"ipytracer/model"
)

// kindOfRecord is what a record is about.
type kindOfRecord uint8

const (
	ofKernel kindOfRecord = iota // the end of one
	ofCell
	ofTask
)

// spanRecord is a cell, a task, or the end of a kernel without a cell, that waits to be sent. It has no lists of a kernel's
// making: what waits takes a few kilobytes each.
type spanRecord struct {
	kernel       *telemetry.Kernel
	id           telemetry.SpanID
	began, ended time.Time
	ending       *model.Ending // nil if the kernel goes on
	kind         kindOfRecord
	cell         model.Window // or a task; without children, allocations and lists
	children     int
	chosen       TraceID                // of a cell, by its kernel; zero for none
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
