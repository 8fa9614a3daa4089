package console

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"ipytracer/internal/report/formats"
	"ipytracer/internal/report/html"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

// Print prints a report in the chosen format. audit is for HTML, nil for other formats.
func (o *Options) Print(w io.Writer, r *model.Report, audit *model.Audit) error {
	r = o.reduced(r)
	if o.Format == "html" {
		if o.NoSource && audit != nil {
			audit = report.AuditWithoutSource(audit)
		}
		return html.Write(w, r, html.Options{Audit: audit})
	}
	if o.Format == "markdown" && o.Full {
		return sheet.SessionMarkdownFull(w, r)
	}
	if f := formats.Of(o.Format); f != nil && f.Print != nil {
		return f.Print(w, r)
	}
	return text.Report(w, r, o.textOf(w, r))
}

// First returns the first part of the report as text for a terminal.
func (o *Options) First(w io.Writer, r *model.Report) (string, error) {
	return text.First(o.reduced(r), o.textOf(w, r))
}

// Rest prints what [Options.First] has left out of the report.
func (o *Options) Rest(w io.Writer, r *model.Report, first string) error {
	return text.Rest(w, o.reduced(r), o.textOf(w, r), first)
}

// textOf returns the options for printing a report as text to w.
func (o *Options) textOf(w io.Writer, r *model.Report) text.Options {
	printed := TextOptions(w)
	printed.Cells, printed.Statements, printed.By, printed.Full = o.Cells, o.Lines, o.by(r), o.Full
	if o.Lines == 0 {
		printed.Statements = -1
	}
	return printed
}

// reduced returns the report without what --no-source and --cells leave out of the chosen format.
func (o *Options) reduced(r *model.Report) *model.Report {
	if o.NoSource {
		r = report.WithoutSource(r)
	}
	if f := formats.Of(o.Format); f != nil && f.Smaller != "" && !f.AlwaysWhole && o.Cells > 0 {
		r = report.Heaviest(r, o.Cells, cmp.Or(o.by(r), r.Ranking(r.Nearest())))
	}
	return r
}

// by returns the meter of --by, "" if the report has no figures of it.
func (o *Options) by(r *model.Report) string {
	if slices.Contains(r.AllMeters(), o.By) {
		return o.By
	}
	return ""
}

// missingMeterNote says that the report has no figures of the meter of --by, "" if it has. That is no error, because
// the session is over and its report must be printed.
func (o *Options) missingMeterNote(r *model.Report) string {
	if o.By == "" || o.by(r) != "" {
		return ""
	}
	return fmt.Sprintf("--by %s: the session has no figures of it; cells are ranked by %s",
		o.By, r.Ranking(r.Nearest()))
}

// FindingFlags defines the flags of a command that prints a finding.
func (o *Options) FindingFlags(f *pflag.FlagSet, what string) {
	f.StringVar(&o.Format, "format", "text",
		"the `FORMAT` of the "+what+": text, json, markdown or html (a page without scripts)")
	f.StringVarP(&o.File, "output", "o", "", "write the "+what+" to `FILE` instead of standard output")
	f.BoolVar(&o.NoSource, "no-source", false, "keep the notebook's source out of every output")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "no progress, only the "+what)
}

// CheckFinding finds mistakes in the flags of a finding.
func (o *Options) CheckFinding() error {
	if o.Cells < 0 {
		return Usagef("--cells must be a number from 0")
	}
	return CheckFormat(o.Format, formats.FindingFormats...)
}

// DeliverFinding prints a finding in the chosen format.
func DeliverFinding[T any](d *Document, f formats.Finding[T], found *T) error {
	o := d.Options
	if o.NoSource {
		found = f.WithoutSource(found)
	}
	return d.Deliver(f.What, func(w io.Writer) error {
		return f.Write(w, found, o.Format, sheet.Options{Cells: o.Cells, Full: o.Full}, Screen(w))
	})
}
