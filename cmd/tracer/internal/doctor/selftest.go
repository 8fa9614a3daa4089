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
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/cmd/tracer/internal/selftest"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/host/invoker"
	"ipytracer/internal/ledger"
)

// selftestOptions are the flags of `tracer selftest`.
type selftestOptions struct {
	Format string
	Python string
	Only   []string
}

func newSelftestCommand(c console.Console) *cobra.Command {
	var o selftestOptions
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Prove that the figures are exact on this machine",
		Long: `Run programs of known truth under the tracer and compare, to the byte.

Each program takes memory in its own way and at its peak reads what its own page tables and mappings hold
(/proc/PID/smaps, a walk that knows nothing of the counters the tracer reads). Where a Python with IPython is
found, cells of known truth are compared as well. It ends with status 1 at the first wrong byte.`,
		Example: "  sudo tracer selftest\n  sudo tracer selftest --python ~/venv/bin/python --format json",
		Args:    status.Args(cobra.NoArgs),
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

func runSelftest(ctx context.Context, o selftestOptions, c console.Console) error {
	if err := output.CheckFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	if err := status.MayTrace("the self-test traces"); err != nil {
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
	options := selftest.Options{Tracer: c.Version, Only: o.Only, Python: python, WithoutCells: o.Python == noPython}
	if o.Format == "text" {
		options.Text, options.Color = c.Out, console.Colored(c.Out)
		options.Progress = func(doing string) func() { return console.StartProgress(c.Err, false, doing).Stop }
	}
	result, err := selftest.Run(ctx, options)
	if errors.Is(err, ledger.ErrNotPermitted) || errors.Is(err, ledger.ErrNotSupported) {
		return err
	}
	if o.Format == "json" {
		err = errors.Join(err, console.PrintJSON(c.Out, result))
	}
	if err != nil && !errors.Is(err, selftest.ErrFailed) {
		err = fmt.Errorf("%w: %w", selftest.ErrFailed, err)
	}
	if err != nil {
		return status.New(status.Failed, err)
	}
	return nil
}

// checkNames finds a mistyped name before any test runs.
func checkNames(only []string) error {
	known := selftest.Names()
	for _, name := range only {
		if !slices.Contains(known, name) {
			return status.Usagef("--only %q: the tests are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// choosePython queries the named Python, or, if a test needs one, the installed ones, which takes a second. It returns
// nil if there is none, or none is needed.
func choosePython(ctx context.Context, named string, only []string) (*selftest.Python, error) {
	switch named {
	case noPython:
		return nil, nil
	case "":
		if !selftest.WantsCells(only) {
			return nil, nil
		}
		var paths []string
		for _, installed := range InstalledPythons(invokerHome()) {
			if installed.Supported {
				paths = append(paths, installed.Path)
			}
		}
		return selftest.FindPython(ctx, paths), nil
	}
	p, err := selftest.AskPython(ctx, named)
	if err != nil {
		return nil, status.Usagef("--python %s: %w", named, err)
	}
	if p.IPython == "" {
		return nil, status.Usagef("--python %s: it has no IPython; '%s -m pip install ipython' installs it", named,
			named)
	}
	return p, nil
}

// invokerHome returns the home of the user who typed sudo.
func invokerHome() string {
	who, err := invoker.Find()
	if err != nil {
		return ""
	}
	return who.Home()
}
