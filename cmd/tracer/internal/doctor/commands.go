package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/host/privileges"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// doctorFlags are the flags of `tracer doctor`.
type doctorFlags struct {
	Format string
	Quick  bool
}

func newDoctorCommand(c console.Console) *cobra.Command {
	var o doctorFlags
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
		Args:    console.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			pids, err := console.ParsePIDs(args)
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

// runDoctor examines everything, or the machine and the Python pid unless that is 0.
func runDoctor(ctx context.Context, o doctorFlags, c console.Console, pid int) error {
	if err := console.CheckFormat(o.Format, "text", "json"); err != nil {
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
		err = errors.Join(console.Silent(console.CannotTrace), err)
	}
	return err
}

// Commands returns the commands that judge a machine.
func Commands(c console.Console) []*cobra.Command {
	return []*cobra.Command{newDoctorCommand(c), newSelftestCommand(c)}
}

// selftestFlags are the flags of `tracer selftest`.
type selftestFlags struct {
	Format string
	Python string
	Only   []string
}

func newSelftestCommand(c console.Console) *cobra.Command {
	var o selftestFlags
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Prove that the figures are exact on this machine",
		Long: `Run programs of known truth under the tracer and compare, to the byte.

Each program takes memory in its own way and at its peak reads what its own page tables and mappings hold
(/proc/PID/smaps, a walk that knows nothing of the counters the tracer reads). Where a Python with IPython is
found, cells of known truth are compared as well. It ends with status 1 at the first wrong byte.`,
		Example: "  sudo tracer selftest\n  sudo tracer selftest --python ~/venv/bin/python --format json",
		Args:    console.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSelftest(cmd.Context(), o, c) },
	}
	cmd.Flags().StringVar(&o.Format, "format", "text", "the `FORMAT` of the results: text or json")
	cmd.Flags().StringVar(&o.Python, "python", "",
		"the `PYTHON`, with IPython, whose cells are compared (default: one that is found; 'none' for no cells)")
	cmd.Flags().StringSliceVar(&o.Only, "only", nil, "run only the tests of these `NAMES`")
	return cmd
}

// noPython is the value of --python for no cells.
const noPython = "none"

func runSelftest(ctx context.Context, o selftestFlags, c console.Console) error {
	if err := console.CheckFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	if err := console.MayTrace("the self-test traces"); err != nil {
		return err
	}
	if err := checkNames(o.Only); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	python, err := choosePython(ctx, o.Python, o.Only)
	if err != nil {
		return err
	}
	options := SelftestOptions{Tracer: c.Version, Only: o.Only, Python: python, WithoutCells: o.Python == noPython}
	if o.Format == "text" {
		options.Text, options.Color = c.Out, console.Colored(c.Out)
		options.Progress = func(doing string) func() { return console.StartProgress(c.Err, false, doing).Stop }
	}
	result, err := Prove(ctx, options)
	if errors.Is(err, ledger.ErrNotPermitted) || errors.Is(err, ledger.ErrNotSupported) {
		return err
	}
	if o.Format == "json" {
		err = errors.Join(err, console.PrintJSON(c.Out, result))
	}
	if err != nil && !errors.Is(err, ErrSelftest) {
		err = fmt.Errorf("%w: %w", ErrSelftest, err)
	}
	if err != nil {
		return console.WithStatus(console.Failed, err)
	}
	return nil
}

// checkNames finds a mistyped name before any test runs.
func checkNames(only []string) error {
	known := SelftestNames()
	for _, name := range only {
		if !slices.Contains(known, name) {
			return console.Usagef("--only %q: the tests are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// choosePython returns the named Python, or else an installed one if a test needs one, which takes a second to find. It
// returns nil if there is none, or none is needed.
func choosePython(ctx context.Context, named string, only []string) (*CellPython, error) {
	switch named {
	case noPython:
		return nil, nil
	case "":
		if !WantsCells(only) {
			return nil, nil
		}
		var paths []string
		for _, installed := range InstalledPythons(invokerHome()) {
			if installed.Supported {
				paths = append(paths, installed.Path)
			}
		}
		return FindPython(ctx, paths), nil
	}
	p, err := AskPython(ctx, named)
	if err != nil {
		return nil, console.Usagef("--python %s: %w", named, err)
	}
	if p.IPython == "" {
		return nil, console.Usagef("--python %s: it has no IPython; '%s -m pip install ipython' installs it", named,
			named)
	}
	return p, nil
}

// invokerHome returns the home of the user who typed sudo.
func invokerHome() string {
	who, err := privileges.FindInvoker()
	if err != nil {
		return ""
	}
	return who.Home()
}
