package output

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/report/html"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

// Print renders a report in the chosen format. audit has the leaks of a page; nil for other formats.
func (o *Options) Print(w io.Writer, r *model.Report, audit *model.Audit) error {
	r = o.wanted(r)
	if o.Format == "html" {
		if o.NoSource && audit != nil {
			audit = report.AuditWithoutSource(audit)
		}
		return html.Write(w, r, html.Options{Audit: audit})
	}
	if o.Format == "markdown" && o.Full {
		return sheet.SessionMarkdownFull(w, r)
	}
	if f := formatOf(o.Format); f != nil && f.print != nil {
		return f.print(w, r)
	}
	return text.Report(w, r, o.textOf(w, r))
}

// First returns the first part of the report as text for a terminal.
func (o *Options) First(w io.Writer, r *model.Report) (string, error) {
	return text.First(o.wanted(r), o.textOf(w, r))
}

// Rest prints the remaining part.
func (o *Options) Rest(w io.Writer, r *model.Report, first string) error {
	return text.Rest(w, o.wanted(r), o.textOf(w, r), first)
}

// textOf returns the options for printing the text of a report at its destination.
func (o *Options) textOf(w io.Writer, r *model.Report) text.Options {
	printed := console.TextOptions(w)
	printed.Cells, printed.Statements, printed.By, printed.Full = o.Cells, o.Lines, o.by(r), o.Full
	if o.Lines == 0 {
		printed.Statements = -1
	}
	return printed
}

// wanted returns the report without the parts that flags keep out of the chosen format.
func (o *Options) wanted(r *model.Report) *model.Report {
	if o.NoSource {
		r = report.WithoutSource(r)
	}
	if f := formatOf(o.Format); f != nil && f.smaller != "" && !f.all && o.Cells > 0 {
		r = report.Heaviest(r, o.Cells, cmp.Or(o.by(r), r.Ranking(r.Nearest())))
	}
	return r
}

// by returns the meter of --by, "" if the report lacks it.
func (o *Options) by(r *model.Report) string {
	if slices.Contains(r.AllMeters(), o.By) {
		return o.By
	}
	return ""
}

// unranked reports that the report lacks the meter of --by: a finished session is printed all the same.
func (o *Options) unranked(r *model.Report) string {
	if o.By == "" || o.by(r) != "" {
		return ""
	}
	return fmt.Sprintf("--by %s: the session has no figures of it; cells are ranked by %s",
		o.By, r.Ranking(r.Nearest()))
}
