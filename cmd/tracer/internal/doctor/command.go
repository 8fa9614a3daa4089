package doctor

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/host/process"
)

// doctorOptions are the flags of `tracer doctor`.
type doctorOptions struct {
	Format string
	Quick  bool
}

func newDoctorCommand(c console.Console) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [PID]",
		Short: "Check whether this machine can trace, what that costs, and how to fix problems",
		Long: "Look at the kernel, the privileges, the meters and the Pythons of this machine; " +
			"measure what a probe costs; and\n" +
			"end with what to do. Without root it looks as far as it can and says what it could not see. " +
			"With the pid of a Python\n" +
			"it looks at that one instead of all, and judges whether its cells can be seen.\n\n" +
			"Exit status: 0 if tracing is possible, 3 if it is not.",
		Example: "  sudo tracer doctor\n  sudo tracer doctor 4242\n  sudo tracer doctor --format json",
		Args:    status.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			pids, err := status.ParsePIDs(args)
			if err != nil {
				return err
			}
			return runDoctor(cmd.Context(), o, c, append(pids, 0)[0])
		},
	}
	cmd.Flags().StringVar(&o.Format, "format", "text", "the `FORMAT` of the findings: text or json")
	cmd.Flags().BoolVar(&o.Quick, "quick", false, "do not measure the cost of probes, which takes some seconds")
	return cmd
}

// runDoctor examines everything, or only the Python with this pid if it is not 0.
func runDoctor(ctx context.Context, o doctorOptions, c console.Console, pid int) error {
	if err := output.CheckFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	progress := console.StartProgress(c.Err, false, "looking")
	proc := process.FS{Helper: process.NewHelper(ctx)}
	defer proc.Helper.Close()
	d, err := Examine(ctx, proc, Options{Tracer: c.Version, Measure: !o.Quick && pid == 0, PID: pid})
	progress.Stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if o.Format == "json" {
		err = console.PrintJSON(c.Out, d)
	} else {
		err = Print(c.Out, d, console.Colored(c.Out))
	}
	if !d.Possible {
		err = errors.Join(status.Silent(status.CannotTrace), err)
	}
	return err
}

// Commands returns the commands that judge a machine.
func Commands(c console.Console) []*cobra.Command {
	return []*cobra.Command{newDoctorCommand(c), newSelftestCommand(c)}
}
