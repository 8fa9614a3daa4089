// Package saved has the commands that read recordings: report, view, audit, advise, diff, merge and plan. Audit and
// advise take running kernels, too.
package saved

import (
	"context"

	"github.com/spf13/cobra"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
)

func newReportCommand(c console.Console) *cobra.Command {
	var o console.Options
	var into intoOptions
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Print a recording again, in any format",
		Long: "Print the report of a recording that 'tracer attach --record' or 'tracer run --record' made: " +
			"the very report that was printed then. Of a file that was cut or damaged it prints what is there, " +
			"and no figure of it is exact.",
		Example: "  tracer report run.arrows\n  tracer report run.arrows --format csv -o cells.csv\n" +
			"  tracer report run.arrows --into notebook.ipynb --into-output",
		Args: console.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runReport(cmd.Context(), o, into, c, args) },
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

// runReport prints a report or puts it into a notebook.
func runReport(ctx context.Context, o console.Options, into intoOptions, c console.Console, args []string) error {
	if err := into.check(&o, args); err != nil {
		return err
	}
	if into.Notebook != "" {
		return runInto(ctx, o, into, c, args)
	}
	if err := o.Check(); err != nil {
		return err
	}
	tracker, findings := attribution.New(), (*attribution.Findings)(nil)
	if o.HasLeaks() {
		tracker, findings = attribution.NewAudited()
	}
	document, err := console.NewDocument(&o, c)
	if err != nil {
		return err
	}
	defer document.Close()
	if err := replay(ctx, document, args[0], tracker.Add); err != nil {
		return err
	}
	r, err := document.Report(tracker, findings, document.Options.Print)
	if err != nil {
		return err
	}
	return document.Judge(r)
}

// Commands returns the commands that read recordings.
func Commands(c console.Console) []*cobra.Command {
	return []*cobra.Command{
		newReportCommand(c), newViewCommand(c), newAuditCommand(c), newDiffCommand(c), newPlanCommand(c),
		newAdviseCommand(c), newMergeCommand(c), newRecallCommand(c),
	}
}
