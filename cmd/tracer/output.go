package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"ipytracer/internal/host/invoker"
	"ipytracer/model"
)

// OutputOptions are the flags for the format and place of a report.
type OutputOptions struct {
	Format   string
	File     string
	NoSource bool
	Quiet    bool
	Strict   strictness
	Cells    int
	Lines    int
	By       string
	Full     bool

	audit *model.Audit // the leaks of a page; nil for other formats
}

// AddFlags defines the flags.
func (o *OutputOptions) AddFlags(f *pflag.FlagSet) {
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
func (o *OutputOptions) Check() error {
	if o.Format == "" && isNotebook(o.File) {
		return usageError{fmt.Errorf("-o %s: no format is a notebook; %s", o.File, intoNotebook)}
	}
	if o.Format == "" {
		o.Format = formatFor(o.File)
	}
	if err := checkFormat(o.Format, formatNames()...); err != nil {
		return err
	}
	if o.Cells < 0 || o.Lines < 0 {
		return usageError{errors.New("--cells and --lines take a number from 0")}
	}
	return checkMeter(o.By)
}

// hasAdvice reports whether a report in this format shows advice.
func (o *OutputOptions) hasAdvice() bool { return o.Format == "html" || o.Format == "markdown" }

// hasLeaks reports whether a report in this format needs an audit of its session.
func (o *OutputOptions) hasLeaks() bool { return o.Format == "html" }

func checkFormat(format string, known ...string) error {
	if slices.Contains(known, format) {
		return nil
	}
	last := len(known) - 1
	if slices.Contains(notebookFormats, format) {
		return usageError{fmt.Errorf("--format %s: %s", format, intoNotebook)}
	}
	for _, f := range gone {
		if f.name == format && slices.Contains(known, f.instead) {
			return usageError{fmt.Errorf("format %s is not written any more: use --format %s, %s", f.name, f.instead,
				f.why)}
		}
	}
	return usageError{fmt.Errorf("--format %q: it is %s or %s", format, strings.Join(known[:last], ", "), known[last])}
}

// printJSON writes a short value as JSON for people and programs.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// destination is the place of the report: standard output, a device or pipe as it is, or a file that appears whole or
// not at all.
type destination struct {
	io.Writer
	file    *invoker.File // has no name until it is complete
	special *os.File
	path    string // "" for standard output
	partly  bool   // a part was written
}

// open finds out at once whether the destination can be written, with the invoker's rights.
func (o *OutputOptions) open(rights *invoker.Rights, stdout io.Writer) (*destination, error) {
	if o.File == "" || o.File == "-" {
		return &destination{Writer: stdout}, o.forTerminal(stdout)
	}
	if f := descriptor(o.File); f != nil {
		if err := o.forTerminal(f); err != nil {
			return nil, err
		}
		return &destination{Writer: f, path: o.File}, nil
	}
	special, err := rights.Special(o.File)
	if err != nil {
		return nil, fmt.Errorf("write the report: %w", err)
	}
	if special != nil {
		return &destination{Writer: special, special: special, path: o.File}, nil
	}
	f, err := rights.Create(o.File, true)
	if err != nil {
		return nil, fmt.Errorf("write the report: %w", err)
	}
	return &destination{Writer: f, file: f, path: o.File}, nil
}

// forTerminal refuses to print a binary format on a terminal.
func (o *OutputOptions) forTerminal(to io.Writer) error {
	f := formatOf(o.Format)
	if f == nil || !f.binary {
		return nil
	}
	if _, is := terminal(to); !is {
		return nil
	}
	return usageError{
		fmt.Errorf("--format %s is not for terminals: name a file, such as -o report%s, "+
			"or hand it to a program by a pipe", f.name, f.ending),
	}
}

// descriptor returns the descriptor behind names such as /dev/stdout, which the program was given and must not open.
// Above standard error it accepts only pipes, which shells pass as >(command).
func descriptor(path string) *os.File {
	switch path {
	case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		return os.Stdout
	case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2":
		return os.Stderr
	}
	number, ok := strings.CutPrefix(path, "/dev/fd/")
	if fd, err := strconv.Atoi(number); ok && err == nil && fd > 2 {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
			return os.NewFile(uintptr(fd), path)
		}
	}
	return nil
}

// override reports whether moving files to their places takes capabilities: for root itself, in folders of other users.
func override(files ...*invoker.File) bool {
	return slices.ContainsFunc(files, func(f *invoker.File) bool { return f != nil && f.NeedsOverride() })
}

// commit puts the file in its place.
func (d *destination) commit() error {
	if d.special != nil {
		f := d.special
		d.special = nil
		return f.Close()
	}
	if d.file == nil {
		return nil
	}
	err := d.file.Sync()
	if err == nil {
		err = d.file.Commit()
	}
	if err = errors.Join(err, d.file.Close()); err != nil {
		return err
	}
	d.file = nil
	return nil
}

// Discard removes a file that was not committed.
func (d *destination) Discard() {
	if d.special != nil {
		d.special.Close()
	}
	if d.file != nil {
		d.file.Discard()
	}
}

// terminal returns the file behind a writer if it is a terminal.
func terminal(w any) (*os.File, bool) {
	switch behind := w.(type) {
	case *messages:
		w = behind.to
	case *destination:
		w = behind.Writer
	}
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// colored follows https://no-color.org: colours on terminals only, and not if NO_COLOR is set to anything.
func colored(w io.Writer) bool {
	_, ok := terminal(w)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// width returns the number of cells of a line: a terminal's, or COLUMNS for a file or a pipe; lines there are not cut
// otherwise.
func width(w io.Writer) int {
	const least, usual, unlimited = 60, 120, -1
	f, isTerminal := terminal(w)
	if isTerminal {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return max(columns, least)
		}
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return max(columns, least)
	}
	if isTerminal {
		return usual
	}
	return unlimited
}
