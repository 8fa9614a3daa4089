package tracer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/confine"
	"ipytracer/internal/host/process"
)

// confine drops from this program, in all its threads and for good, the capabilities, system calls and files that the
// session does not need once the kernel half is loaded. That happens before any target is examined: from then on, the
// helper does everything that needs such a right. Nothing can be started afterwards. The log reports what the
// machine does not support; all else is done.
func (s *Session) confine() error {
	r := s.options.Confine
	if r == nil {
		return nil
	}
	// Where users themselves have sessions started, none is to get the processors so.
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
		if errors.Is(err, confine.ErrNoFilter) {
			level = slog.LevelWarn
		}
		s.log.Log(context.Background(), level, "the tracer can do more than it needs", "error", err)
	})
}

// kept returns the capabilities that the session needs on this kernel, and why: before Linux 5.19 the maps need them,
// where kernel.unprivileged_bpf_disabled is set; before 6.10 probes, which are perf events there.
func (s *Session) kept() (keep []uint, why error) {
	try := func() error { return errors.Join(s.ledger.TryProbe(), s.ledger.Wake()) }
	for _, keep := range [][]uint{nil, {unix.CAP_BPF, unix.CAP_PERFMON},
		{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_ADMIN}} {
		err := confine.WithOnly(keep, try)
		if err == nil {
			return keep, why
		}
		why = err
	}
	return []uint{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_ADMIN}, why
}

// keepOnly gives up, in a session that processes join, every capability of this program that neither the session nor
// its owner needs. The session goes on opening processes of all users.
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
	return confine.KeepCapabilities(keep...)
}

// Signal sends SIGTERM, SIGHUP or SIGKILL to a target, if [Remains] permits that.
func (s *Session) Signal(pid int, signal unix.Signal) error {
	return s.fs.Helper.Signal(pid, signal)
}
