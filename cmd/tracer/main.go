// Command tracer attaches to running Jupyter and IPython kernels and reports the exact memory peak of every
// cell, statement and experiment. Nothing is installed in the target, and nothing is sampled.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/doctor"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/cmd/tracer/internal/saved"
	"ipytracer/cmd/tracer/internal/service"
	"ipytracer/cmd/tracer/internal/session"
	"ipytracer/cmd/tracer/internal/trial"
)

// version is set by the linker (scripts/build.sh), from the file VERSION.
var version = "0.1.0-dev"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs the command line args, and returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	messages := console.NewMessages(stderr)
	signals := console.WatchSignals(cancel, messages)
	c := console.Console{In: stdin, Out: stdout, Err: messages, Signals: signals, Version: version}
	defer c.Drain()
	defer signals.Stop()

	root := newRootCommand(c)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		code, message := console.Explain(err)
		if message != "" {
			c.Say("%s", console.Retyped(message, args))
		}
		return code
	}
	return 0
}

func newRootCommand(c console.Console) *cobra.Command {
	root := &cobra.Command{
		Use:   "tracer",
		Short: "Exact memory peaks of Jupyter and IPython cells, seen from the kernel",
		Long: `tracer attaches to a running Jupyter or IPython kernel and reports, exactly and without installing
anything in it, the memory that every cell, top-level statement and experiment consumed, the peak it needed on
top, and the total.

Exit status:
  0  done
  1  it failed: to trace, or to read or write a file
  2  wrong usage
  3  this machine or this user cannot trace; the message says why and what to type
  4  --strict: a figure, or data that it judges, is not exact or was lost; or a plan has doubts
  5  --fail-over: over the limit: more stays behind (audit), or is needed than before (diff)
  6  --fail-over: the limit could not be judged
  otherwise the status of the command that was traced`,
		SilenceErrors: true,

		SuggestionsMinimumDistance: 2,

		SilenceUsage: true,
		Args:         console.Args(cobra.NoArgs),
		Version:      c.Version,
		RunE:         func(cmd *cobra.Command, _ []string) error { return inventory.Stand(cmd.Context(), c) },
	}
	root.SetVersionTemplate("tracer {{.Version}}\n")
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	root.SetIn(c.In)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return console.Usagef("%w; see '%s --help'", console.WrongValue(err), cmd.CommandPath())
	})
	for _, family := range []func(console.Console) []*cobra.Command{
		session.Commands, saved.Commands, doctor.Commands, inventory.Commands, service.Commands,
		hiddenCommands,
	} {
		root.AddCommand(family(c)...)
	}
	root.AddCommand(trial.Command(c), newNotebookCommand(c), newExplainCommand(c), newVersionCommand(c))
	fitHelp(root, c)
	return root
}

func newVersionCommand(c console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  console.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(c.Out, "tracer", c.Version)
			return err
		},
	}
}
