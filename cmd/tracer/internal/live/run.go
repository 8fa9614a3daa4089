package live

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
	"ipytracer/cmd/tracer/internal/session"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/host/process"
	"ipytracer/tracer"
)

func newRunCommand(c console.Console) *cobra.Command {
	var o session.Options
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG ...]",
		Short: "Start a command and trace it, and its children, from the first instruction",
		Long: "Start COMMAND as the invoking user (not as root) and trace it and its children " +
			"from its first instruction to\n" +
			"its end. The exit status is COMMAND's, unless tracing itself failed. Ctrl-C goes to COMMAND. " +
			"SIGUSR1 ends the session: the report comes at once, with the variables, and COMMAND goes on untraced.",
		Example: "  sudo tracer run -- ipython\n  sudo tracer run --record lab.arrows -- jupyter lab",
		Args:    status.Args(cobra.MinimumNArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return runRun(cmd.Context(), o, c, args) },
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func runRun(ctx context.Context, o session.Options, c console.Console, args []string) error {
	options, err := o.TracerOptions(c)
	if err != nil {
		return err
	}
	options.Command = args
	tracker, findings := attribution.NewAudited()
	s, err := session.New(&o, c, tracker)
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
		c.Signals.HandTo(handOn(signals, detach))
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
	go passOn(signals, live, child.Pid)
	session.SayLimits(c, live, o.Quiet)
	if !o.Quiet {
		session.WarnHeap(c, live)
	}
	if err := s.Follow(within, live.Pending); err != nil {
		return err
	}
	if within.Err() != nil { // the report comes first, and the command goes on
		failed := s.Conclude(tracker)
		return errors.Join(failed, ended(child, args[0]))
	}
	code := ended(child, args[0])
	c.Signals.HandTo(nil)
	if err := s.Conclude(tracker); err != nil {
		return err
	}
	return code
}

// ended waits for a command, and returns its exit status as an error; nil for 0.
func ended(child *os.Process, name string) error {
	state, err := child.Wait()
	if err != nil {
		return fmt.Errorf("wait for %s: %w", name, err)
	}
	return exitOf(state)
}

// handOn returns the function that takes signals: only SIGUSR1 ends the session before the command ends, and none the
// tracer.
func handOn(signals chan<- os.Signal, detach func()) func(os.Signal) {
	return func(s os.Signal) {
		if s == syscall.SIGUSR1 {
			detach()
			return
		}
		select {
		case signals <- s:
		default: // the channel is full of waiting signals
		}
	}
}

// passOn forwards SIGTERM and SIGHUP to the command. Ctrl-C reaches it from the terminal itself.
func passOn(signals <-chan os.Signal, live *tracer.Session, pid int) {
	for s := range signals {
		if s == syscall.SIGTERM || s == syscall.SIGHUP {
			_ = live.Signal(pid, s.(syscall.Signal))
		}
	}
}

// exitOf turns a command's ending into a shell's exit status.
func exitOf(state *os.ProcessState) error {
	code, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && code.Signaled():
		return status.Silent(128 + int(code.Signal()))
	case state.ExitCode() != 0:
		return status.Silent(state.ExitCode())
	}
	return nil
}

// startTraced starts a command stopped at its exec (ptrace), attaches, and lets it go.
func startTraced(s *session.Session, args []string, options tracer.Options) (*os.Process, *tracer.Session, error) {
	cmd, err := typed(s, args)
	if err != nil {
		return nil, nil, err
	}
	live, err := tracer.Launch(cmd, options)
	var failed *tracer.NotStartedError
	if errors.As(err, &failed) {
		err = status.Usage(err)
	}
	return cmd.Process, live, err
}

// typed returns the typed command, to run as the invoking user, with the terminal.
func typed(s *session.Session, args []string) (*exec.Cmd, error) {
	cmd, err := s.UserCommand(context.Background(), args...)
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if self, err := (process.FS{}).Identity(os.Getpid()); err == nil {
		// the companion waits for the first answer of this tracer
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d %d", startedBy, self.PID, self.StartTicks))
	}
	return cmd, nil
}

// startedBy names, to the companion in a command and in its children, the tracer that will listen (docs/line.md).
const startedBy = "IPYTRACER_STARTED_BY"
