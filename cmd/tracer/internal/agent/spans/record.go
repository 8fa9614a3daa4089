package spans

import (
	"strings"
	"time"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/model"
	"ipytracer/report/escape"
)

// record is a cell, or the end of a kernel without one, that waits to be sent. It has no lists of a kernel's making:
// what waits takes a few kilobytes each.
type record struct {
	kernel       *telemetry.Kernel
	id           telemetry.SpanID
	began, ended time.Time
	ending       *model.Ending // nil if the kernel goes on
	isCell       bool
	cell         model.Window // without children, allocations and lists
	children     int
}

// maxRefusals is the most refused requests of a cell that its span has.
const maxRefusals = 8

func recordOf(c *telemetry.Cell, withSource bool) *record {
	r := &record{kernel: c.Kernel, id: c.SpanID, began: c.Began, ended: c.Ended, ending: c.Ending, isCell: true}
	r.cell = *c.Window
	r.children = len(r.cell.Children) + r.cell.ChildrenUnlisted
	r.cell.Children, r.cell.Allocations, r.cell.Coverage = nil, nil, nil
	r.cell.Refused = append([]model.Refusal(nil), r.cell.Refused[:min(len(r.cell.Refused), maxRefusals)]...)
	for i := range r.cell.Refused {
		r.cell.Refused[i].Stack = nil
	}
	r.cell.Error = text(r.cell.Error)
	switch w := &r.cell; {
	case !withSource:
		w.Source, w.SourceTruncated = "", false
	case len(w.Source) > MaxSource:
		w.Source, w.SourceTruncated = strings.Clone(escape.Prefix(w.Source, MaxSource)), true
	}
	return r
}

func recordOfDeath(d *telemetry.Death) *record {
	return &record{kernel: d.Kernel, id: telemetry.NewSpanID(), began: d.At, ended: d.At, ending: d.Ending}
}
