package tracer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/privileges"
	"ipytracer/internal/host/process"
)

// confine drops from this program, in all its threads and for good, the capabilities, system calls and files that the
// session does not need once the kernel half is loaded. It is called before any target is examined. Afterwards the
// program can start no process, and the helper does everything that needs such a right. The log reports what the
// machine does not support.
func (s *Session) confine() error {
	r := s.options.Confine
	if r == nil {
		return nil
	}
	// A session that a user had started must not get a higher priority.
	first := s.options.Owner == nil
	scope := &process.Scope{Signals: r.Signals, First: first, Owner: s.options.Owner}
	for _, t := range s.targets.All {
		scope.Roots = append(scope.Roots, t.Handle.Identity())
	}
	if err := s.fs.Helper.TakeOver(scope); err != nil {
		return err
	}
	s.devices.Start(r.User)
	keep, err := s.kept()
	if err != nil {
		s.log.Info(fmt.Sprintf("this kernel takes %d capabilities to place a probe, which are kept", len(keep)),
			"error", err)
	}
	return Withdraw(*r, keep, rules(*r), func(err error) {
		level := slog.LevelInfo // the filter forbids nearly all that Landlock does
		if errors.Is(err, privileges.ErrNoFilter) {
			level = slog.LevelWarn
		}
		s.log.Log(context.Background(), level, "the tracer can do more than it needs", "error", err)
	})
}

// kept returns the capabilities that the session needs on this kernel, and the error without them. Before Linux 5.19
// maps need some if kernel.unprivileged_bpf_disabled is set. Before 6.10 probes need some, because they are perf
// events.
func (s *Session) kept() (keep []uint, why error) {
	try := func() error { return errors.Join(s.ledger.TryProbe(), s.ledger.Wake()) }
	for _, keep := range [][]uint{nil, {unix.CAP_BPF, unix.CAP_PERFMON},
		{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_ADMIN}} {
		err := privileges.WithOnly(keep, try)
		if err == nil {
			return keep, why
		}
		why = err
	}
	return []uint{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_ADMIN}, why
}

// keepOnly drops, in a session of [Follow], every capability that neither the session nor [Options.Keep] needs. The
// session can still open processes of all users.
func (s *Session) keepOnly() error {
	if s.options.Keep == nil {
		return nil
	}
	keep, err := s.kept()
	if err != nil {
		s.log.Info("this kernel takes further capabilities to place a probe, which are kept", "error", err)
	}
	keep = slices.Concat(s.options.Keep, keep, []uint{
		unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_PTRACE, unix.CAP_DAC_READ_SEARCH, unix.CAP_CHECKPOINT_RESTORE,
	})
	return privileges.KeepCapabilities(keep...)
}

// Signal sends SIGTERM, SIGHUP or SIGKILL to a target, if [Remains] permits that.
func (s *Session) Signal(pid int, signal unix.Signal) error {
	return s.fs.Helper.Signal(pid, signal)
}
