package console

import (
	"strings"

	"github.com/spf13/pflag"

	"ipytracer/event"
	"ipytracer/internal/report/formats"
)

// Options are the flags for the format and place of a report.
type Options struct {
	// Format is the name of a format; "": the one that the ending of File chooses, else text.
	Format string
	// File is the place of the report; "" and "-" are standard output.
	File string
	// NoSource keeps the notebook's source out of every output.
	NoSource bool
	// Quiet leaves out live lines, progress and remarks.
	Quiet bool
	// Strict says which faults of a report end the command with status 4.
	Strict Strictness
	// Cells is the number of the heaviest cells that a report shows; 0: the format's own number.
	Cells int
	// Lines is the number of cells that the text shows line by line.
	Lines int
	// By is the meter that ranks the cells; "": the one nearest to its limit.
	By string
	// Full leaves nothing out of the text.
	Full bool
}

// AddFlags defines the flags.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Format, "format", "", formatHelp())
	f.StringVarP(&o.File, "output", "o", "", "write the report to `FILE` instead of standard output")
	f.BoolVar(&o.NoSource, "no-source", false, "keep the notebook's source out of every output")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "no live lines and no progress, only the report")
	o.Strict.addFlag(f, "exit with status 4 if a figure is not exact, or if data behind a figure was lost; "+
		"=attribution: if the lines that allocated are not known in full; =all: either")
	f.IntVar(&o.Cells, "cells", 0, "show the `N` heaviest cells (default: 15, or all with --full); csv, "+
		"allocations-csv and perfetto leave the others out, if N is given")
	f.IntVar(&o.Lines, "lines", 3, "show the `N` heaviest cells line by line in the text report")
	f.BoolVar(&o.Full, "full", false, "leave nothing out of the text report: every cell, "+
		"every stretch between cells, the certificate's tables; in Markdown, lines of libraries, too")
	f.StringVar(&o.By, "by", "", "rank the cells by this `METER`, such as cpu.numpy or gpu.0.active (default: "+
		"the memory that came nearest to its limit)")
}

// Check finds mistakes before tracing begins.
func (o *Options) Check() error {
	if o.Format == "" && IsNotebook(o.File) {
		return Usagef("-o %s: no format is a notebook; %s", o.File, IntoNotebook)
	}
	if o.Format == "" {
		o.Format = FormatFor(o.File)
	}
	if err := CheckFormat(o.Format, FormatNames()...); err != nil {
		return err
	}
	if o.Cells < 0 || o.Lines < 0 {
		return Usagef("--cells and --lines must be numbers from 0")
	}
	return CheckMeter(o.By)
}

// hasAdvice reports whether a report in this format shows advice.
func (o *Options) hasAdvice() bool {
	f := formats.Of(o.Format)
	return f != nil && f.Advised
}

// HasLeaks reports whether a report in this format needs an audit of its session.
func (o *Options) HasLeaks() bool { return o.Format == "html" }

// CheckMeter returns an error if no session can have the meter of --by.
func CheckMeter(by string) error {
	if _, ok := event.ParseMeter(by); ok || by == "" {
		return nil
	}
	var known []string
	for _, m := range event.Meters() {
		known = append(known, strings.Replace(m.Meter.String(), "gpu.0.", "gpu.N.", 1))
	}
	last := len(known) - 1
	return Usagef("--by %q: must be %s or %s", by, strings.Join(known[:last], ", "), known[last])
}
