package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/host/process"
	"ipytracer/tracer"
)

func newRunCommand(c console.Console) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG ...]",
		Short: "Start a command and trace it, and its children, from the first instruction",
		Long: "Start COMMAND as the invoking user (not as root) and trace it and its children " +
			"from its first instruction to\n" +
			"its end. The exit status is COMMAND's, unless tracing itself failed. Ctrl-C goes to COMMAND. " +
			"SIGUSR1 ends the session: the report comes at once, with the variables, and COMMAND goes on untraced.",
		Example: "  sudo tracer run -- ipython\n  sudo tracer run --record lab.arrows -- jupyter lab",
		Args:    console.Args(cobra.MinimumNArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return runRun(cmd.Context(), o, c, args) },
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().Lookup("heap").Usage = "count every malloc and free, as the meter cpu.heap: COMMAND loads a library " +
		"that does; where it cannot, and in the programs that it starts, probes do, which slow down those that call " +
		"them often"
	cmd.Flags().BoolVar(&o.NoPreload, "no-preload", false,
		"with --heap: load no library into COMMAND, but see each malloc and free by probes")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func runRun(ctx context.Context, o Options, c console.Console, args []string) error {
	options, err := o.TracerOptions(c)
	if err != nil {
		return err
	}
	options.Command = args
	tracker, findings := attribution.NewAudited()
	s, err := New(&o, c, tracker)
	if err != nil {
		return err
	}
	defer s.Close()
	within, detach := context.WithCancel(context.WithoutCancel(ctx))
	defer detach()
	signals := make(chan os.Signal, 8)
	options.Companion = s.Listen(tracker, findings, "")
	var child *os.Process
	live, err := s.Begin(options, func(options tracer.Options) (live *tracer.Session, err error) {
		c.Signals.HandTo(signalHandler(signals, detach))
		options.Confine.Signals = true
		child, live, err = startTraced(s, args, options)
		return live, err
	})
	if live == nil {
		return err
	}
	defer live.Close()
	if err != nil {
		return errors.Join(err, live.Signal(child.Pid, unix.SIGKILL))
	}
	go forwardSignals(signals, live, child.Pid)
	SayLimits(c, live, o.Quiet)
	if !o.Quiet {
		WarnHeap(c, live)
	}
	if err := s.Follow(within, live.Pending); err != nil {
		return err
	}
	if within.Err() != nil { // SIGUSR1: the command goes on, so the report comes first
		reportErr := s.Conclude(tracker)
		return errors.Join(reportErr, waitForCommand(child, args[0]))
	}
	exit := waitForCommand(child, args[0])
	c.Signals.HandTo(nil)
	if err := s.Conclude(tracker); err != nil {
		return err
	}
	return exit
}

// waitForCommand waits for a command, and returns its exit status as an error; nil for 0.
func waitForCommand(child *os.Process, name string) error {
	state, err := child.Wait()
	if err != nil {
		return fmt.Errorf("wait for %s: %w", name, err)
	}
	return exitError(state)
}

// signalHandler returns a handler for the tracer's signals. On SIGUSR1 it ends the session by detach, and it sends any
// other signal to the channel: no signal ends the tracer.
func signalHandler(signals chan<- os.Signal, detach func()) func(os.Signal) {
	return func(s os.Signal) {
		if s == syscall.SIGUSR1 {
			detach()
			return
		}
		select {
		case signals <- s:
		default: // enough signals are waiting
		}
	}
}

// forwardSignals forwards SIGTERM and SIGHUP to the command. Ctrl-C reaches it from the terminal itself.
func forwardSignals(signals <-chan os.Signal, live *tracer.Session, pid int) {
	for s := range signals {
		if s == syscall.SIGTERM || s == syscall.SIGHUP {
			_ = live.Signal(pid, s.(syscall.Signal))
		}
	}
}

// exitError returns the exit status of a command, as a shell has it, as an error; nil for 0.
func exitError(state *os.ProcessState) error {
	wait, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && wait.Signaled():
		return console.Silent(128 + int(wait.Signal()))
	case state.ExitCode() != 0:
		return console.Silent(state.ExitCode())
	}
	return nil
}

// startTraced starts a command, attaches while ptrace holds it at its exec, and lets it run.
func startTraced(s *Session, args []string, options tracer.Options) (*os.Process, *tracer.Session, error) {
	cmd, err := typedCommand(s, args)
	if err != nil {
		return nil, nil, err
	}
	live, err := tracer.Launch(cmd, options)
	var failed *tracer.NotStartedError
	if errors.As(err, &failed) {
		err = console.Usage(err)
	}
	return cmd.Process, live, err
}

// typedCommand returns the command that the user has typed. It runs as the invoking user, on the terminal.
func typedCommand(s *Session, args []string) (*exec.Cmd, error) {
	cmd, err := s.UserCommand(context.Background(), args...)
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if self, err := (process.FS{}).Identity(os.Getpid()); err == nil {
		// The companion waits for this tracer's first answer.
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d %d", startedBy, self.PID, self.StartTicks))
	}
	return cmd, nil
}

// startedBy is the environment variable by which the companion in a command learns of its tracer (docs/line.md).
const startedBy = "IPYTRACER_STARTED_BY"
