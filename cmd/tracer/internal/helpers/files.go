package helpers

import (
	"errors"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/host/confine"
	"ipytracer/internal/host/process"
	"ipytracer/internal/host/processor"
)

// newFilesCommand returns the command that opens and reads files for a session: files on file systems that may
// never answer, and files that the session has given up the right to open.
func newFilesCommand() *cobra.Command {
	var scope string
	var signals, first bool
	var owner uint32
	cmd := status.Hidden(process.HelperCommand, "Open and read files for a session; started by tracer itself",
		cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
			processes, err := process.ParseScope(scope)
			if err != nil {
				return err
			}
			processes.Signals, processes.First = signals, first
			if cmd.Flags().Changed("owner") {
				processes.Owner = &owner
			}
			s, err := process.OpenHelperServer(processes)
			if err != nil {
				return err
			}
			if err := confineHelper(signals, s.Priority()); err != nil {
				return err
			}
			return s.Serve()
		})
	cmd.Flags().StringVar(&scope, "scope", "all", "the processes that are looked into")
	cmd.Flags().Uint32Var(&owner, "owner", 0, "of these only such that are this user's, and have no further rights")
	cmd.Flags().BoolVar(&signals, "signals", false, "send signals, too")
	cmd.Flags().BoolVar(&first, "first", false, "raise the priority of who asks, for a while")
	return cmd
}

// confineHelper leaves the helper the rights to read the files and the memory of other processes, to send them signals,
// and to set the nice values of a keeper, if there is one.
func confineHelper(signals bool, first *processor.Priority) error {
	keep := []uint{unix.CAP_SYS_PTRACE, unix.CAP_CHECKPOINT_RESTORE, unix.CAP_DAC_READ_SEARCH}
	mapped := process.FS{}.TryMapFiles
	if confine.WithOnly(keep, mapped) != nil && mapped() == nil {
		keep = append(keep, unix.CAP_SYS_ADMIN) // before Linux 5.9
	}
	if signals {
		keep = append(keep, unix.CAP_KILL)
	}
	if first != nil {
		keep = append(keep, unix.CAP_SYS_NICE)
	}
	if err := confine.KeepCapabilities(keep...); err != nil {
		return err
	}
	rules := slices.Concat(confine.Program(), confine.Reading(),
		confine.Always(unix.SYS_SENDMSG, unix.SYS_RECVMSG, unix.SYS_OPENAT2,
			unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_GETSOCKOPT),
		[]confine.Rule{
			confine.OneOf(unix.SYS_KILL, 1, 0),
			// A line to a notebook, over a socket pair of the notebook's.
			confine.OneOf(unix.SYS_SOCKETPAIR, 0, unix.AF_UNIX),
			{
				Call: unix.SYS_SETSOCKOPT,
				When: [][]confine.Test{{confine.Is(1, unix.SOL_SOCKET), confine.Is(2, unix.SO_PASSRIGHTS)}},
			},
			confine.OneOf(unix.SYS_IOCTL, 1, unix.TIOCOUTQ),
		})
	if signals {
		for _, s := range process.Passed {
			rules = append(rules, confine.OneOf(unix.SYS_PIDFD_SEND_SIGNAL, 1, uint32(s)))
		}
	}
	if first != nil {
		usual, raised := first.Values()
		for _, nice := range []int{usual, raised} {
			rules = append(rules, confine.Rule{Call: unix.SYS_SETPRIORITY, When: [][]confine.Test{
				{confine.Is(0, unix.PRIO_PROCESS), confine.Is(2, uint32(nice))}}})
		}
	}
	err := confine.Allow(rules)
	if errors.Is(err, confine.ErrNoFilter) {
		return nil
	}
	return err
}
