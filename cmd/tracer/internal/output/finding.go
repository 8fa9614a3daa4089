package output

import (
	"io"

	"github.com/spf13/pflag"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/sheet"
)

// Finding is what a command has found, with the functions that print it in each format.
type Finding[T any] struct {
	Found         *T
	What          string // for people
	WithoutSource func(*T) *T
	JSON          func(io.Writer, *T) error
	Document      func(*T, sheet.Options) *doc.Document
}

// FindingFlags defines the flags of a command that prints a finding.
func (o *Options) FindingFlags(f *pflag.FlagSet, what string) {
	f.StringVar(&o.Format, "format", "text",
		"the `FORMAT` of the "+what+": text, json, markdown or html (a page without scripts)")
	f.StringVarP(&o.File, "output", "o", "", "write the "+what+" to `FILE` instead of standard output")
	f.BoolVar(&o.NoSource, "no-source", false, "keep the notebook's source out of every output")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "no progress, only the "+what)
}

// CheckFinding finds mistakes in those flags.
func (o *Options) CheckFinding() error {
	if o.Cells < 0 {
		return status.Usagef("--cells must be a number from 0")
	}
	return CheckFormat(o.Format, "text", "json", "markdown", "html")
}

// DeliverFinding prints a finding in the chosen format.
func DeliverFinding[T any](d *Document, f Finding[T]) error {
	o, found := d.Options, f.Found
	if o.NoSource {
		found = f.WithoutSource(found)
	}
	return d.Deliver(f.What, func(w io.Writer) error {
		if o.Format == "json" {
			return f.JSON(w, found)
		}
		return f.Document(found, sheet.Options{Cells: o.Cells, Full: o.Full}).Write(w, o.Format, console.Screen(w))
	})
}
