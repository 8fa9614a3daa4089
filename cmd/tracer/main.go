// Command tracer attaches to running Jupyter and IPython kernels and reports the exact memory peak of every
// cell, statement and experiment, with nothing installed in the target and nothing sampled.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// version is set by the linker (see the Makefile).
var version = "0.1.0-dev"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with its surroundings as parameters; it returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	words := newMessages(stderr)
	defer words.drain(lastWords)
	ends := watchEndings(cancel, words)
	defer ends.stop()

	root := newRootCommand(console{in: stdin, out: stdout, err: words, ends: ends})
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		status, message := explain(err)
		if message != "" {
			fmt.Fprintln(words, "tracer:", retyped(message, args))
		}
		return status
	}
	return 0
}

// lastWords bounds how long unread standard error may keep the program from ending.
const lastWords = time.Second

// console has the input and outputs of a command.
type console struct {
	in       io.Reader
	out, err io.Writer
	ends     *endings
}

// hold keeps the lines written to standard error until it is called with nil, and passes each to a function. It does
// nothing if standard error has no queue.
func (c console) hold(tell func(string)) {
	if m, ok := c.err.(*messages); ok {
		m.hold(tell)
	}
}

func newRootCommand(c console) *cobra.Command {
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
		Args:         usageArgs(cobra.NoArgs),
		RunE:         func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.SetIn(c.in)
	root.AddCommand(newServeCommand(c), newAgentCommand(c), newDeathsCommand(c))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see '%s --help'", wrongValue(err), cmd.CommandPath())}
	})
	root.AddCommand(newAttachCommand(c), newRunCommand(c), newKernelsCommand(c), newGPUCommand(c), newReportCommand(c),
		newViewCommand(c), newAuditCommand(c), newDiffCommand(c), newPlanCommand(c), newAdviseCommand(c),
		newMergeCommand(c),
		newTopCommand(c), newLimitCommand(c), newNotebookCommand(c), newGuardCommand(), newHelperCommand(),
		newPorterCommand(), newKeepCommand(c), newNVMLHelperCommand(), newMoveWorkerCommand(c), newLookCommand(c),
		newRecallCommand(c), newDoctorCommand(c), newSelftestCommand(c), newVersionCommand(c),
		newWorkloadCommand(c), newBareCommand(c))
	root.AddCommand(newTryCommand(c))
	fitHelp(root, c)
	return root
}

func newVersionCommand(c console) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(c.out, "tracer", version)
			return err
		},
	}
}

// usageArgs turns an error about arguments into a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{wrongArguments(cmd, args, err)}
		}
		return nil
	}
}
