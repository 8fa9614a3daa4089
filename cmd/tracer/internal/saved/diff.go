package saved

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/compare"
	"ipytracer/internal/report/formats"
	"ipytracer/model"
)

// diffOptions are the flags of `tracer diff`.
type diffOptions struct {
	console.Options
	Least    string
	FailOver string
	Meters   []string

	compare compare.Options
}

func newDiffCommand(c console.Console) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two recordings: what grew, by which line, and why",
		Long: `Compare two recordings of a notebook: before and after a change, or with two versions of a library.

Cells are matched by their source, not by their number: those that are the same, edited, moved, new and gone are named
as such. Cells that need more themselves come first, edited ones before others; then those that only begin higher,
because of what stood before them. Whatever keeps the two from being comparable is listed.`,
		Example: "  tracer diff before.arrows after.arrows\n  tracer diff main.arrows branch.arrows --fail-over " +
			"10%,500MiB --format markdown",
		Args: console.Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error { return runDiff(cmd.Context(), o, c, args) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.Meters, "meter", nil, "compare by these `METERS`; the first one ranks the cells (default: "+
		"resident memory, and of each GPU what the driver and PyTorch have)")
	flags.StringVar(&o.Least, "min", "4MiB",
		"leave out changes of less than this `SIZE`: two runs of the same notebook differ by some MiB")
	flags.StringVar(&o.FailOver, "fail-over", "", "exit with status 5 if the session's peak, or what a cell needs, "+
		"grew by more than any of these `LIMITS` (10%, 100MiB, or several with commas), 6 if that cannot be judged")
	o.FindingFlags(flags, "comparison")
	flags.BoolVar(&o.Full, "full", false, "leave nothing out of the text")
	flags.IntVar(&o.Cells, "cells", 0, "show `N` cells in the text (0: 15)")
	o.StrictFlag(flags, "the figures of one of them are not complete")
	return cmd
}

func (o *diffOptions) check() (err error) {
	if err := o.CheckFinding(); err != nil {
		return err
	}
	if o.compare.Least, err = size("--min", o.Least); err != nil {
		return err
	}
	if o.FailOver != "" {
		if o.compare.Limits, err = compare.ParseLimits(o.FailOver); err != nil {
			return console.Usagef("--fail-over %q: %w", o.FailOver, err)
		}
	}
	o.compare.Meters = o.Meters
	return nil
}

func runDiff(ctx context.Context, o diffOptions, c console.Console, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	document, err := console.NewDocument(&o.Options, c)
	if err != nil {
		return err
	}
	defer document.Close()
	var runs []*compare.Run
	err = readEach(ctx, document, args, func(name string, r *model.Report) {
		runs = append(runs, compare.Read(name, r))
	})
	if err != nil {
		return err
	}
	diff, err := compare.Runs(runs[0], runs[1], o.compare)
	var unknown *compare.UnknownMeterError
	if errors.As(err, &unknown) {
		return console.Usagef("--meter %s: no such meter in these recordings; there are: %s",
			unknown.Meter, strings.Join(unknown.Known, ", "))
	}
	if err != nil {
		return err
	}
	err = console.DeliverFinding(document, formats.Diff, diff)
	if err != nil {
		return err
	}
	if err := judgementError(diff.Judged); err != nil {
		return err
	}
	return o.Proven(diff.A.Complete && diff.B.Complete, diff.Doubts)
}

// judgementError returns the error with the exit status that --fail-over demands, nil for none.
func judgementError(judged *model.Judgement) error {
	switch {
	case judged == nil:
		return nil
	case len(judged.Over) > 0:
		return console.Errorf(console.OverLimit, "%s", summarize(judged.Over))
	case len(judged.Unsure) > 0:
		return console.Errorf(console.NotJudged, "nothing is over the limit for certain, but this cannot be judged: %s",
			summarize(judged.Unsure))
	}
	return nil
}

// summarize returns the first sentence, and the number of the others.
func summarize(sentences []string) string {
	if n := len(sentences) - 1; n > 0 {
		return fmt.Sprintf("%s (and %d more)", sentences[0], n)
	}
	return sentences[0]
}
