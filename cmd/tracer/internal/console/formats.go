package console

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ipytracer/internal/report/export"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

// format is a format of reports. The help of --format, errors and docs/howto/export.md come from [formats].
type format struct {
	name       string
	ending     string // of files
	ownsEnding bool   // no other format has the ending, so -o FILE chooses this one without --format
	readers    string // programs that read it
	has        string // what it shows, for the documentation
	lacks      string // what it cannot show
	binary     bool   // not for terminals
	// smaller says how to get a smaller file; "" if the file does not grow with the session.
	smaller string
	// alwaysWhole makes --cells leave nothing out.
	alwaysWhole bool
	print       func(io.Writer, *model.Report) error
}

// formats has every format but text, which depends on more flags.
var formats = []format{
	{
		name: "text", ending: ".txt", readers: "people", has: "what matters of a session; everything with --full",
		lacks: "nothing with --full",
	},
	{
		name: "json", ending: ".json", readers: "programs", print: accountedJSON, alwaysWhole: true,
		smaller: "--format csv has its figures, --format html the heaviest cells, and both far less",
		has:     "everything, by a published schema", lacks: "nothing",
	},
	{
		name: "csv", ending: ".csv", readers: "pandas, spreadsheets", print: report.CSV,
		smaller: "--cells 500 keeps the 500 heaviest cells",
		has:     "a row for each window and each time between cells, every figure of every meter",
		lacks:   "who allocated, children, the tree's figures, the certificate",
	},
	{
		name: "html", ending: ".html", readers: "a browser: [the page](read-the-page.md)",
		binary: true, ownsEnding: true,
		has: "cells with their sources, who allocated what was there at their peaks as graphs, leaks, variables, " +
			"lines, processes, the certificate",
		lacks: "in long sessions who allocated in lighter cells, and their statements; the page says how many",
	},
	{
		name: "pprof", ending: ".pb.gz", readers: "`go tool pprof`, speedscope, Pyroscope",
		binary: true, ownsEnding: true, print: export.Pprof,
		has: "who allocated what was there at the peaks of the session, of experiments and of cells, of all meters; " +
			"labels for cell, experiment, process",
		lacks: "statements, the course of time, sources, children; certificate and bounds are comments and labels",
	},
	{
		name: "allocations-csv", ending: ".csv", readers: "pandas, scripts for memray's CSV", print: export.Allocations,
		smaller: "--cells 500 keeps the 500 heaviest cells; --format pprof has the same, packed",
		has:     "memray's columns at the session's peak, and the same for experiments and cells",
		lacks:   "threads (tid is the process), meters without single blocks, statements, the certificate",
	},
	{
		name: "perfetto", ending: ".pftrace", readers: "ui.perfetto.dev, trace_processor",
		binary: true, ownsEnding: true, print: export.Perfetto,
		smaller: "--cells 500 keeps the 500 heaviest cells. Perfetto's page needs two to four times a file's size " +
			"in memory; with trace_processor --httpd it opens larger files",
		has: "cells with their statements, experiments, and a counter for each meter with every turning point that " +
			"is kept, by process and for the tree; each slice with its figures and the tree's",
		lacks: "who allocated, the certificate",
	},
	{
		name: "memory-viz", ending: ".pickle", readers: "PyTorch's memory_viz page", binary: true, ownsEnding: true,
		print: export.Snapshot,
		has:   "what stood on each GPU at the session's peak: a block for each stack, with its cell",
		lacks: "single blocks and their addresses (a block is all that a stack had), the course of time (its order " +
			"is made up), the CPU; refused where no memory on a GPU was seen",
	},
	{
		name: "markdown", ending: ".md", readers: "pull requests and issues on GitHub and GitLab", ownsEnding: true,
		print: sheet.SessionMarkdown,
		has: "the 15 heaviest cells, 10 experiments, the 10 lines of the notebook that held most at the session's " +
			"peak, with all that they called (with --full the lines of libraries), what is not exact",
		lacks: "everything else: it is short on purpose",
	},
}

// retiredFormats are formats of earlier versions: each with the ending that chose it, "" for none, and the format to
// use instead.
var retiredFormats = []struct{ name, ending, instead, why string }{
	{"speedscope", ".speedscope.json", "pprof", "which speedscope opens"},
	{"collapsed", ".collapsed", "pprof", "which 'go tool pprof -http=:' draws as a flame graph"},
	{"chrome", "", "perfetto", "which ui.perfetto.dev opens"},
	{"parquet", ".parquet", "csv", "which has the same rows"},
}

// FormatNames returns the names of all formats.
func FormatNames() (names []string) {
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
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
	copied := *r
	copied.Accounts = text.Accounts(r)
	return &copied
}

// FormatFor returns the format that a file's ending chooses, else text. For the ending of a retired format it returns
// that format, so that [CheckFormat] says what to use instead.
func FormatFor(file string) string {
	for _, f := range retiredFormats {
		if f.ending != "" && strings.HasSuffix(file, f.ending) {
			return f.name
		}
	}
	for _, f := range formats {
		if f.ownsEnding && strings.HasSuffix(file, f.ending) {
			return f.name
		}
	}
	return "text"
}

func formatHelp() string {
	names := FormatNames()
	last := len(names) - 1
	return fmt.Sprintf("the `FORMAT` of the report: %s or %s (default text, or what the ending of -o stands for)",
		strings.Join(names[:last], ", "), names[last])
}

// CheckFormat returns an error for a format that is not one of known.
func CheckFormat(format string, known ...string) error {
	if slices.Contains(known, format) {
		return nil
	}
	last := len(known) - 1
	if slices.Contains(NotebookFormats, format) {
		return Usagef("--format %s: %s", format, IntoNotebook)
	}
	for _, f := range retiredFormats {
		if f.name == format && slices.Contains(known, f.instead) {
			return Usagef("format %s is not written any more: use --format %s, %s", f.name, f.instead,
				f.why)
		}
	}
	return Usagef("--format %q: must be %s or %s", format, strings.Join(known[:last], ", "), known[last])
}
