package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/report/export"
	"ipytracer/internal/report/html"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

// format is a format of reports. The help of --format, errors and docs/howto/export.md come from the table of them.
type format struct {
	name   string
	ending string // of files
	open   string // programs that read it
	has    string
	lacks  string // facts that it cannot carry
	binary bool   // not for terminals
	// smaller says how to make its file smaller. The file grows with the session, and --cells chooses its content
	// unless all is.
	smaller string
	all     bool
	own     bool // no other format has the ending: -o FILE chooses this one without --format
	print   func(io.Writer, *model.Report) error
}

// formats has every format but text, which depends on more flags.
var formats = []format{
	{
		name: "text", ending: ".txt", open: "people", has: "what matters of a session; everything with --full",
		lacks: "nothing with --full",
	},
	{
		name: "json", ending: ".json", open: "programs", print: accountedJSON, all: true,
		smaller: "--format csv has its figures, --format html the heaviest cells, and both far less",
		has:     "everything, by a published schema", lacks: "nothing",
	},
	{
		name: "csv", ending: ".csv", open: "pandas, spreadsheets", print: report.CSV,
		smaller: "--cells 500 keeps the 500 heaviest cells",
		has:     "a row for each window and each time between cells, every figure of every meter",
		lacks:   "who allocated, children, the tree's figures, the certificate",
	},
	{
		name: "html", ending: ".html", open: "a browser: [the page](read-the-page.md)", binary: true, own: true,
		has: "cells with their sources, who allocated what was there at their peaks as graphs, leaks, variables, " +
			"lines, processes, the certificate",
		lacks: "in long sessions who allocated in lighter cells, and their statements; the page says how many",
	},
	{
		name: "pprof", ending: ".pb.gz", open: "`go tool pprof`, speedscope, Pyroscope", binary: true, own: true,
		print: export.Pprof,
		has: "who allocated what was there at the peaks of the session, of experiments and of cells, of all meters; " +
			"labels for cell, experiment, process",
		lacks: "statements, the course of time, sources, children; certificate and bounds are comments and labels",
	},
	{
		name: "allocations-csv", ending: ".csv", open: "pandas, scripts for memray's CSV", print: export.Allocations,
		smaller: "--cells 500 keeps the 500 heaviest cells; --format pprof has the same, packed",
		has:     "memray's columns at the session's peak, and the same for experiments and cells",
		lacks:   "threads (tid is the process), meters without single blocks, statements, the certificate",
	},
	{
		name: "perfetto", ending: ".pftrace", open: "ui.perfetto.dev, trace_processor", binary: true, own: true,
		print: export.Perfetto,
		smaller: "--cells 500 keeps the 500 heaviest cells. Perfetto's page needs two to four times a file's size, " +
			"and opens more with trace_processor --httpd",
		has: "cells with their statements, experiments, and a counter for each meter with every turning point that " +
			"is kept, by process and for the tree; each slice with its figures and the tree's",
		lacks: "who allocated, the certificate",
	},
	{
		name: "memory-viz", ending: ".pickle", open: "PyTorch's memory_viz page", binary: true, own: true,
		print: export.Snapshot,
		has:   "what stood on each GPU at the session's peak: a block for each stack, with its cell",
		lacks: "single blocks and their addresses (a block is all that a stack had), the course of time (its order " +
			"is made up), the CPU; refused where no memory on a GPU was seen",
	},
	{
		name: "markdown", ending: ".md", open: "pull requests and issues on GitHub and GitLab", own: true,
		print: sheet.SessionMarkdown,
		has: "the 15 heaviest cells, 10 experiments, the 10 lines of the notebook that held most at the session's " +
			"peak, with all that they called (with --full the lines of libraries), what is not exact",
		lacks: "everything else: it is short on purpose",
	},
}

// gone are formats of earlier versions, with the ending that chose each, "" for none, and the format that is written
// instead.
var gone = []struct{ name, ending, instead, why string }{
	{"speedscope", ".speedscope.json", "pprof", "which speedscope opens"},
	{"collapsed", ".collapsed", "pprof", "which 'go tool pprof -http=:' draws as a flame graph"},
	{"chrome", "", "perfetto", "which ui.perfetto.dev opens"},
	{"parquet", ".parquet", "csv", "which has the same rows"},
}

func FormatNames() (all []string) {
	for _, f := range formats {
		all = append(all, f.name)
	}
	return all
}

// formatOf returns a format by its name, nil if there is none.
func formatOf(name string) *format {
	if i := slices.IndexFunc(formats, func(f format) bool { return f.name == name }); i >= 0 {
		return &formats[i]
	}
	return nil
}

// accountedJSON writes a report as JSON, with its accounts.
func accountedJSON(w io.Writer, r *model.Report) error { return report.JSON(w, Accounted(r)) }

// Accounted returns a copy of a report with its accounts.
func Accounted(r *model.Report) *model.Report {
	one := *r
	one.Accounts = text.Accounts(r)
	return &one
}

// FormatFor returns the format of a file's ending, text if there is none or several. An ending of a format that is gone
// returns that format, which no command takes.
func FormatFor(file string) string {
	for _, f := range gone {
		if f.ending != "" && strings.HasSuffix(file, f.ending) {
			return f.name
		}
	}
	for _, f := range formats {
		if f.own && strings.HasSuffix(file, f.ending) {
			return f.name
		}
	}
	return "text"
}

// formatHelp returns the help of --format.
func formatHelp() string {
	names := FormatNames()
	last := len(names) - 1
	return fmt.Sprintf("the `FORMAT` of the report: %s or %s (default text, or what the ending of -o stands for)",
		strings.Join(names[:last], ", "), names[last])
}

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

// text returns the options of the report for people at its destination.
func (o *Options) text(w io.Writer) text.Options {
	lines := o.Lines
	if lines == 0 {
		lines = -1
	}
	printed := console.TextOptions(w)
	printed.Cells, printed.Statements, printed.By, printed.Full = o.Cells, lines, o.By, o.Full
	return printed
}

// First returns the first part of the report as text for a terminal.
func (o *Options) First(w io.Writer, r *model.Report) (string, error) {
	return text.First(o.wanted(r), o.textOf(w, r))
}

// Rest prints the remaining part.
func (o *Options) Rest(w io.Writer, r *model.Report, first string) error {
	return text.Rest(w, o.wanted(r), o.textOf(w, r), first)
}
