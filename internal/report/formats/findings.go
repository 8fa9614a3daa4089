package formats

import (
	"io"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/sheet"
	"ipytracer/model"
	"ipytracer/report"
)

// LeastLeak is the size in bytes from which on an HTML page lists a leak.
const LeastLeak = 1 << 20

// Finding is a kind of result that is no report, of type T, with the functions that print it.
type Finding[T any] struct {
	What          string // for people
	WithoutSource func(*T) *T
	JSON          func(io.Writer, *T) error
	Document      func(*T, sheet.Options) *doc.Document
	// wholePage leaves nothing out of a page.
	wholePage bool
}

// FindingFormats are the formats of each finding.
var FindingFormats = []string{"text", "json", "markdown", "html"}

// The findings.
var (
	Diff = Finding[model.Diff]{What: "comparison", WithoutSource: report.DiffWithoutSource, JSON: report.DiffJSON,
		Document: sheet.Diff}
	Audit = Finding[model.Audit]{What: "audit", WithoutSource: report.AuditWithoutSource, JSON: report.AuditJSON,
		Document: sheet.Audit, wholePage: true}
	Advice = Finding[model.Advice]{What: "advice", WithoutSource: report.AdviceWithoutSource, JSON: report.AdviceJSON,
		Document: sheet.Advice}
	Plan = Finding[model.Plan]{What: "plan", WithoutSource: report.PlanWithoutSource, JSON: report.PlanJSON,
		Document: sheet.Plan}
)

// Write writes a finding in one of [FindingFormats], as text for a screen of a size. It fails with w's error only.
func (f Finding[T]) Write(w io.Writer, found *T, format string, o sheet.Options, screen doc.Size) error {
	if format == "json" {
		return f.JSON(w, found)
	}
	o.Full = o.Full || f.wholePage && format == "html"
	return f.Document(found, o).Write(w, format, screen)
}
