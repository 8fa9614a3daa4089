// Package service has the commands that serve all users of a machine: serve, agent and deaths.
package service

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/serving"
)

// serveOptions are the flags of `tracer serve`.
type serveOptions struct {
	Folder  string
	PerUser int
	InAll   int
	Auto    bool
	Reports string
	Verbose bool
}

func newServeCommand(c console.Console) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Attach for the users of kernels when their notebooks ask (%tracer start)",
		Long: "Wait, as root, for notebooks that say '%tracer start', and trace the kernel that asks: " +
			"that very process, which the Linux kernel\n" +
			"names, and no other. Each session is a process of its own that has the rights of the kernel's user; " +
			"its figures go to that notebook only.\n" +
			"It ends with the kernel, at '%tracer stop', or with the server, " +
			"and leaves its report to that user in a file. With --auto a kernel is traced\n" +
			"from its start, if it loads the notebook companion then. scripts/packaging/ipytracer-serve.service " +
			"runs it by systemd.",
		Example: "  sudo tracer serve\n  sudo tracer serve --per-user 2\n  sudo tracer serve --auto",
		Args:    console.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), o, c) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Folder, "folder", serving.Folder, "the `FOLDER` of the socket, which only root may write to")
	flags.IntVar(&o.PerUser, "per-user", 4, "a user, with all subordinate ones, may have `N` sessions at a time")
	flags.IntVar(&o.InAll, "in-all", 32, "there may be `N` sessions at a time")
	flags.BoolVar(&o.Auto, "auto", false,
		"trace every kernel that loads the notebook companion, from then on, without being asked")
	flags.StringVar(&o.Reports, "reports", reportsFolder,
		"the `FOLDER` in which sessions leave reports to their users, "+
			"made with the user's rights (%h: the home, %u: the name); or 'off'")
	flags.BoolVarP(&o.Verbose, "verbose", "v", false, "log to standard error")
	return cmd
}

func runServe(ctx context.Context, o serveOptions, c console.Console) error {
	if o.PerUser < 1 || o.InAll < 1 {
		return console.Usagef("--per-user and --in-all must be numbers from 1")
	}
	reports, err := checkReports(o.Reports)
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errServeNeedsRoot
	}
	if err := serving.Supported(); err != nil {
		return err
	}
	l, err := serving.Listen(o.Folder)
	if err != nil {
		return err
	}
	defer l.Close()
	log := c.Logger(o.Verbose)
	begin := func(p serving.Peer) (*serving.Child, error) {
		return startSession(log, p, reportPlace(reports, p, time.Now()))
	}
	s := serving.New(serving.Options{
		Log: log, PerUser: o.PerUser, InAll: o.InAll, Auto: o.Auto, Session: begin, Porter: serving.StartPorter,
		Login: (&telemetry.Accounts{}).Login,
	})
	which := "notebooks that say '%tracer start'"
	if o.Auto {
		which = "kernels that load the notebook companion (%load_ext ipytracer)"
	}
	c.Say("%s are traced from now on; Ctrl-C ends that, and their sessions", which)
	notify(log, daemon.SdNotifyReady)
	defer context.AfterFunc(ctx, func() { notify(log, daemon.SdNotifyStopping) })()
	return s.Serve(ctx, l)
}

// notify reports the state of the service to systemd, if systemd started it and expects that (Type=notify).
func notify(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd could not be notified", "state", state, "error", err)
	}
}

var errServeNeedsRoot = console.Errorf(console.CannotTrace,
	"'tracer serve' traces the processes of others, which takes root; type 'sudo tracer serve'")

// startSession starts a process that traces the peer and answers only the peer's notebook. When it has ended, its
// report is stored at the path report, unless that is "". Its arguments have nothing that the peer has chosen.
func startSession(log *slog.Logger, peer serving.Peer, report string) (*serving.Child, error) {
	args := []string{
		"attach", "--quiet", "--started", strconv.FormatUint(peer.StartTicks, 10), "--owner",
		strconv.FormatUint(uint64(peer.UID), 10),
	}
	if report != "" {
		args = append(args, "--left-at", report)
	} else {
		args = append(args, "--output", os.DevNull)
	}
	cmd := exec.Command("/proc/self/exe", append(args, strconv.Itoa(peer.PID))...)
	cmd.Env, cmd.Dir = environmentOf(peer), "/"
	errs, output := &console.Tail{}, &reportOutput{}
	cmd.Stdout, cmd.Stderr = output, errs
	cmd.WaitDelay = time.Second // a stopped child of the process may hold standard error open
	// In a session of its own, Ctrl-C at the server does not reach the process: the server ends it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a session: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
		if cmd.ProcessState != nil && cmd.ProcessState.Exited() { // a killed process has written half a report
			output.store(log, peer, report)
		}
	}()
	signal := func(s unix.Signal) error {
		if s == unix.SIGKILL {
			output.kill()
		}
		return cmd.Process.Signal(s)
	}
	return &serving.Child{Signal: signal, Ended: ended, Said: errs.Text, Report: report}, nil
}

// environmentOf returns the environment that sudo would set for the peer's user. By that, the session opens files with
// that user's rights, and becomes that user.
func environmentOf(peer serving.Peer) []string {
	env := []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
	if peer.UID == 0 {
		return env
	}
	uid := strconv.FormatUint(uint64(peer.UID), 10)
	env = append(env, "SUDO_UID="+uid, "SUDO_GID="+strconv.FormatUint(uint64(peer.GID), 10))
	if entry, err := user.LookupId(uid); err == nil {
		env = append(env, "SUDO_USER="+entry.Username)
	}
	return env
}

// Commands returns the commands serve, agent and deaths, and a hidden one.
func Commands(c console.Console) []*cobra.Command {
	return []*cobra.Command{newServeCommand(c), newAgentCommand(c), newDeathsCommand(c), newKeepCommand(c)}
}
