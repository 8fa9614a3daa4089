package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"ipytracer/attribution"
	"ipytracer/internal/compare"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

// DiffOptions are the flags of `tracer diff`.
type DiffOptions struct {
	SessionOptions
	Least    string
	FailOver string
	Meters   []string

	compare compare.Options
}

func newDiffCommand(c console) *cobra.Command {
	var o DiffOptions
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two recordings: what grew, by which line, and why",
		Long: `Compare two recordings of a notebook: before and after a change, or with two versions of a library.

Cells are matched by their source, not by their number: those that are the same, edited, moved, new and gone are named
as such. Cells that need more themselves come first, edited ones before others; then those that only begin higher,
because of what stood before them. Whatever keeps the two from being comparable is listed.`,
		Example: "  tracer diff before.arrows after.arrows\n  tracer diff main.arrows branch.arrows --fail-over " +
			"10%,500MiB --format markdown",
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error { return runDiff(cmd.Context(), o, c, args) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Meters, "meter", nil, "compare by these `METERS`; the first one ranks the cells (default: "+
		"resident memory, and of each GPU what the driver and PyTorch have)")
	f.StringVar(&o.Least, "min", "4MiB",
		"leave out changes of less than this `SIZE`: two runs of the same notebook differ by some MiB")
	f.StringVar(&o.FailOver, "fail-over", "", "exit with status 5 if the session's peak, or what a cell needs, "+
		"grew by more than any of these `LIMITS` (10%, 100MiB, or several with commas), 6 if that cannot be judged")
	f.StringVar(&o.Format, "format", "text",
		"the `FORMAT` of the comparison: text, json, markdown or html (a page without scripts)")
	f.StringVarP(&o.File, "output", "o", "", "write the comparison to `FILE` instead of standard output")
	f.BoolVar(&o.Full, "full", false, "leave nothing out of the text")
	f.IntVar(&o.Cells, "cells", 0, "show `N` cells in the text (0: 15)")
	f.BoolVar(&o.NoSource, "no-source", false, "keep the notebook's source out of every output")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "no progress, only the comparison")
	o.strictFlag(f, "the figures of one of them are not complete")
	return cmd
}

func (o *DiffOptions) check() (err error) {
	if err := checkFormat(o.Format, "text", "json", "markdown", "html"); err != nil {
		return err
	}
	if o.compare.Least, err = size("--min", o.Least); err != nil {
		return err
	}
	if o.Cells < 0 {
		return usageError{errors.New("--cells takes a number from 0")}
	}
	if o.FailOver != "" {
		if o.compare.Limits, err = compare.ParseLimits(o.FailOver); err != nil {
			return usageError{fmt.Errorf("--fail-over %q: %w", o.FailOver, err)}
		}
	}
	o.compare.Meters = o.Meters
	return nil
}

func runDiff(ctx context.Context, o DiffOptions, c console, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	s, err := newSession(&o.SessionOptions, c, nil)
	if err != nil {
		return err
	}
	defer s.close()
	var runs []*compare.Run
	err = s.readEach(ctx, args, func(name string, r *model.Report) { runs = append(runs, compare.Read(name, r)) })
	if err != nil {
		return err
	}
	d, err := compare.Runs(runs[0], runs[1], o.compare)
	var unknown *compare.UnknownMeterError
	if errors.As(err, &unknown) {
		return usageError{
			fmt.Errorf("--meter %s: no such meter in these recordings; there are: %s",
				unknown.Meter, strings.Join(unknown.Known, ", ")),
		}
	}
	if err != nil {
		return err
	}
	if err := s.deliver("comparison", func(w io.Writer) error { return o.print(w, d) }); err != nil {
		return err
	}
	if err := verdict(d.Judged); err != nil {
		return err
	}
	return o.proven(d.A.Complete && d.B.Complete, d.Doubts)
}

// verdict returns an error with the status of a judgement.
func verdict(j *model.Judgement) error {
	switch {
	case j == nil:
		return nil
	case len(j.Over) > 0:
		return leakError(sentences(j.Over))
	case len(j.Unsure) > 0:
		return notJudgedError("nothing is over the limit for certain, but this cannot be judged: " +
			sentences(j.Unsure))
	}
	return nil
}

// sentences returns the first few, and the number of the others.
func sentences(all []string) string {
	if n := len(all) - 1; n > 0 {
		return fmt.Sprintf("%s (and %d more)", all[0], n)
	}
	return all[0]
}

func (o *DiffOptions) print(w io.Writer, d *model.Diff) error {
	if o.NoSource {
		d = report.DiffWithoutSource(d)
	}
	switch o.Format {
	case "json":
		return report.DiffJSON(w, d)
	case "markdown":
		return sheet.DiffMarkdown(w, d)
	case "html":
		return sheet.DiffHTML(w, d)
	}
	return text.Diff(w, d, text.Options{Color: colored(w), Width: width(w), Cells: o.Cells, Full: o.Full})
}

// readEach reads recordings, one after another: it drops one before it reads the next. All are opened before rights are
// given up.
func (s *session) readEach(ctx context.Context, paths []string, take func(name string, r *model.Report)) error {
	files, err := openEach(s, paths)
	defer closeEach(files)
	if err != nil {
		return err
	}
	progress := startProgress(s.console.err, s.options.Quiet, "reading")
	defer progress.stop()
	for i, f := range files {
		if err := s.readOne(ctx, f, paths[i], take); err != nil {
			return err
		}
		if i+1 < len(files) {
			debug.FreeOSMemory()
		}
	}
	return nil
}

// openEach opens files, and gives up the rights that reading them does not need. The caller closes those that are open,
// also if it fails.
func openEach(s *session, paths []string) (files []*os.File, err error) {
	for _, path := range paths {
		f, err := s.rights.Open(path)
		if err != nil {
			return files, fmt.Errorf("read the recording: %w", err)
		}
		files = append(files, f)
	}
	if err := s.seclude(); err != nil {
		return files, fmt.Errorf("give up what is not needed: %w", err)
	}
	return files, nil
}

func closeEach(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

func (s *session) readOne(ctx context.Context, f *os.File, path string, take func(name string, r *model.Report)) error {
	tracker := attribution.New()
	if err := readFor(ctx, s, f, path, tracker.Add); err != nil {
		return err
	}
	take(path, tracker.Stream())
	return nil
}
