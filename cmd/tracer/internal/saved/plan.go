package saved

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/plan"
	"ipytracer/internal/report/formats"
	"ipytracer/model"
)

// planOptions are the flags of `tracer plan`.
type planOptions struct {
	console.Options
	Tried string
}

// maxPlans is the most recordings of one plan.
const maxPlans = 1000

func newPlanCommand(c console.Console) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan FILE...",
		Short: "Show how much memory a notebook needs, and which lines would lower it",
		Long: "Say what memory and GPU memory a notebook needs, from one or several recordings of it: " +
			"by its exact peak with all its\n" +
			"children, with the margin and why; which cell and line decides that; what to paste for Kubernetes, " +
			"Slurm, Docker and\n" +
			"systemd; and the lines that would bring it down, each alone and the best three together. " +
			"Every reason for more is listed.",
		Example: "  tracer plan run.arrows\n  tracer plan monday.arrows tuesday.arrows --format json",
		Args:    console.Args(cobra.RangeArgs(1, maxPlans)),
		RunE:    func(cmd *cobra.Command, args []string) error { return runPlan(cmd.Context(), o, c, args) },
	}
	flags := cmd.Flags()
	o.FindingFlags(flags, "plan")
	flags.BoolVar(&o.Full, "full", false, "list every recording and every doubt in the text")
	flags.StringVar(&o.Tried, "tried", "",
		"also say what it needs with the change that 'tracer try --format json' found best, in `FILE`")
	o.StrictFlag(flags, "the plan has doubts, or a figure is only a bound")
	return cmd
}

func runPlan(ctx context.Context, o planOptions, c console.Console, args []string) error {
	if err := o.CheckFinding(); err != nil {
		return err
	}
	document, err := console.NewDocument(&o.Options, c)
	if err != nil {
		return err
	}
	defer document.Close()
	var runs []*plan.Run
	var tried *os.File
	if o.Tried != "" {
		if tried, err = document.Rights.Open(o.Tried); err != nil {
			return fmt.Errorf("read the trial: %w", err)
		}
		defer tried.Close()
	}
	err = readEach(ctx, document, args, func(name string, r *model.Report) { runs = append(runs, plan.Read(name, r)) })
	if err != nil {
		return err
	}
	p := plan.Make(runs)
	if tried != nil {
		t, err := readTrial(tried)
		if err != nil {
			return fmt.Errorf("read %s: %w", o.Tried, err)
		}
		plan.AddTried(p, t)
	}
	err = console.DeliverFinding(document, formats.Plan, p)
	if err != nil {
		return err
	}
	if o.Strict.Figures && !isCertain(p) {
		return errUncertain
	}
	return nil
}

// maxTrial is the most bytes of a trial.
const maxTrial = 64 << 20

// readTrial reads the result of `tracer try --format json`. The file may come from any source.
func readTrial(file *os.File) (*model.Trial, error) {
	data, err := io.ReadAll(io.LimitReader(file, maxTrial+1))
	if err != nil {
		return nil, err
	}
	var t model.Trial
	if len(data) > maxTrial || json.Unmarshal(data, &t) != nil || t.Schema != model.TrialSchema {
		return nil, errors.New("it is no result of 'tracer try --format json'")
	}
	return &t, nil
}

var errUncertain = console.Errorf(console.NotExact, "the plan has doubts (they are at its end)")

// isCertain reports whether a plan has no doubts and only exact figures.
func isCertain(p *model.Plan) bool {
	for _, d := range p.Demands {
		if !d.Exact {
			return false
		}
	}
	return len(p.Doubts) == 0
}
