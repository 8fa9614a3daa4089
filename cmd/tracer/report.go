package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ipytracer/attribution"
)

func newReportCommand(c console) *cobra.Command {
	var o OutputOptions
	var into IntoOptions
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Print a recording again, in any format",
		Long: "Print the report of a recording that 'tracer attach --record' or 'tracer run --record' made: " +
			"the very report that was printed then. Of a file that was cut or damaged it prints what is there, " +
			"and no figure of it is exact.",
		Example: "  tracer report run.arrows\n  tracer report run.arrows --format csv -o cells.csv\n" +
			"  tracer report run.arrows --into notebook.ipynb --into-output",
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return reportOrInto(cmd.Context(), o, into, c, args) },
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&into.Notebook, "into", "",
		"put the figures into the metadata of the cells of `NOTEBOOK`.ipynb, which are found by their sources")
	cmd.Flags().BoolVar(&into.Outputs, "into-output", false,
		"with --into: also show them under the cells, as an output")
	cmd.Flags().BoolVar(&into.Remove, "remove", false,
		"with --into, and without a recording: take the figures out of the notebook")
	return cmd
}

func runReport(ctx context.Context, o OutputOptions, c console, path string) error {
	if err := o.Check(); err != nil {
		return err
	}
	tracker, findings := attribution.New(), (*attribution.Findings)(nil)
	if o.hasLeaks() {
		tracker, findings = attribution.NewAudited()
	}
	s, err := newSession(&SessionOptions{OutputOptions: o}, c, tracker)
	if err != nil {
		return err
	}
	defer s.close()
	s.findings = findings
	if err := s.replay(ctx, path); err != nil {
		return err
	}
	return s.conclude(tracker)
}

// replay reads a recording to its end.
func (s *session) replay(ctx context.Context, path string) error {
	f, err := s.rights.Open(path)
	if err != nil {
		return fmt.Errorf("read the recording: %w", err)
	}
	defer f.Close()
	if err := s.seclude(); err != nil {
		return fmt.Errorf("give up what is not needed: %w", err)
	}
	progress := startProgress(s.console.err, s.options.Quiet, "reading")
	defer progress.stop()
	return readFor(ctx, s, f, path, s.tracker.Add)
}
