package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ipytracer/attribution"
	"ipytracer/tracer/recording"
)

func newReportCommand(c console) *cobra.Command {
	var o OutputOptions
	cmd := &cobra.Command{
		Use:     "report FILE",
		Short:   "Print a recording again, in any format",
		Long:    "Print the report of a recording that `tracer attach --record` or `tracer run --record` made: the very report that was printed then. A file that was cut short is printed as far as it goes.",
		Example: "  tracer report run.arrows\n  tracer report run.arrows --format csv -o cells.csv",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return runReport(cmd.Context(), o, c, args[0]) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runReport(ctx context.Context, o OutputOptions, c console, path string) error {
	if err := o.Check(); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the recording: %w", err)
	}
	defer f.Close()
	source, err := recording.Open(f)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	to, err := o.open(c.out)
	if err != nil {
		return err
	}
	defer to.discard()
	tracker := attribution.New()
	progress := startSpinner(c.err, o.Quiet, "reading")
	defer progress.stop()
	for {
		e, err := source.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		tracker.Add(e)
	}
	progress.stop()
	r := tracker.Report()
	if err := o.Print(to, r); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := to.commit(); err != nil {
		return err
	}
	if o.Strict && bounded(r) {
		return errBound
	}
	return nil
}
