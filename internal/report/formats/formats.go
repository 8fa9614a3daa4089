// Package formats lists the formats of a report, and the findings of a session with the functions that print them. The
// commands offer them, and so does the page that opens a recording in a browser. It needs no operating system.
package formats

import (
	"io"
	"slices"

	"ipytracer/internal/report/export"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

// Format is a format of reports. The help of --format, errors and docs/howto/export.md come from [All].
type Format struct {
	Name       string
	Ending     string // of files
	OwnsEnding bool   // no other format has the ending, so -o FILE chooses this one without --format
	Readers    string // programs that read it
	Has        string // what it shows, for the documentation
	Lacks      string // what it cannot show
	Binary     bool   // not for terminals
	// Smaller says how to get a smaller file; "" if the file does not grow with the session.
	Smaller string
	Advised bool // it has advice, if the report has
	// AlwaysWhole makes --cells leave nothing out.
	AlwaysWhole bool
	// Print writes a report as the tracer does without flags; nil for text and html, which depend on more.
	Print func(io.Writer, *model.Report) error
}

// All are the formats, in the order of the documentation.
var All = []Format{
	{
		Name: "text", Ending: ".txt", Readers: "people", Has: "what matters of a session; everything with --full",
		Lacks: "nothing with --full",
	},
	{
		Name: "json", Ending: ".json", Readers: "programs", Print: json, AlwaysWhole: true,
		Smaller: "--format csv has its figures, --format html the heaviest cells, and both far less",
		Has:     "everything, by a published schema", Lacks: "nothing",
	},
	{
		Name: "csv", Ending: ".csv", Readers: "pandas, spreadsheets", Print: report.CSV,
		Smaller: "--cells 500 keeps the 500 heaviest cells",
		Has:     "a row for each window and each time between cells, every figure of every meter",
		Lacks:   "who allocated, children, the tree's figures, the certificate",
	},
	{
		Name: "html", Ending: ".html", Readers: "a browser: [the page](read-the-page.md)",
		Binary: true, OwnsEnding: true, Advised: true,
		Has: "cells with their sources, who allocated what was there at their peaks as graphs, leaks, variables, " +
			"lines, processes, the certificate",
		Lacks: "in long sessions who allocated in lighter cells, and their statements; the page says how many",
	},
	{
		Name: "pprof", Ending: ".pb.gz", Readers: "`go tool pprof`, speedscope, Pyroscope",
		Binary: true, OwnsEnding: true, Print: export.Pprof,
		Has: "who allocated what was there at the peaks of the session, of experiments and of cells, of all meters; " +
			"labels for cell, experiment, process",
		Lacks: "statements, the course of time, sources, children; certificate and bounds are comments and labels",
	},
	{
		Name: "allocations-csv", Ending: ".csv", Readers: "pandas, scripts for memray's CSV", Print: export.Allocations,
		Smaller: "--cells 500 keeps the 500 heaviest cells; --format pprof has the same, packed",
		Has:     "memray's columns at the session's peak, and the same for experiments and cells",
		Lacks:   "threads (tid is the process), meters without single blocks, statements, the certificate",
	},
	{
		Name: "perfetto", Ending: ".pftrace", Readers: "ui.perfetto.dev, trace_processor",
		Binary: true, OwnsEnding: true, Print: export.Perfetto,
		Smaller: "--cells 500 keeps the 500 heaviest cells. Perfetto's page needs two to four times a file's size " +
			"in memory; with trace_processor --httpd it opens larger files",
		Has: "cells with their statements, experiments, and a counter for each meter with every turning point that " +
			"is kept, by process and for the tree; each slice with its figures and the tree's",
		Lacks: "who allocated, the certificate",
	},
	{
		Name: "memory-viz", Ending: ".pickle", Readers: "PyTorch's memory_viz page", Binary: true, OwnsEnding: true,
		Print: export.Snapshot,
		Has:   "what stood on each GPU at the session's peak: a block for each stack, with its cell",
		Lacks: "single blocks and their addresses (a block is all that a stack had), the course of time (its order " +
			"is made up), the CPU; refused where no memory on a GPU was seen",
	},
	{
		Name: "markdown", Ending: ".md", Readers: "pull requests and issues on GitHub and GitLab", OwnsEnding: true,
		Print: sheet.SessionMarkdown, Advised: true,
		Has: "the 15 heaviest cells, 10 experiments, the 10 lines of the notebook that held most at the session's " +
			"peak, with all that they called (with --full the lines of libraries), what is not exact",
		Lacks: "everything else: it is short on purpose",
	},
}

// Of returns a format by its name, nil if there is none.
func Of(name string) *Format {
	if i := slices.IndexFunc(All, func(f Format) bool { return f.Name == name }); i >= 0 {
		return &All[i]
	}
	return nil
}

// json writes a report as JSON, with its accounts.
func json(w io.Writer, r *model.Report) error { return report.JSON(w, Accounted(r)) }

// Accounted returns a copy of a report with its accounts.
func Accounted(r *model.Report) *model.Report {
	copied := *r
	copied.Accounts = text.Accounts(r)
	return &copied
}
