package main

import (
	"errors"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"ipytracer/tracer/confine"
	"ipytracer/tracer/process"
)

// newHelperCommand is what opens and reads files whose file system may never answer.
func newHelperCommand() *cobra.Command {
	return &cobra.Command{
		Use:    process.HelperCommand,
		Short:  "Read files that may not answer; started by tracer itself",
		Hidden: true,
		Args:   usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
			s, err := process.OpenHelperServer()
			if err != nil {
				return err
			}
			if err := confineHelper(); err != nil {
				return err
			}
			return s.Serve()
		},
	}
}

// confineHelper leaves the helper what reading the files and the memory of other processes takes.
func confineHelper() error {
	keep := []uint{unix.CAP_SYS_PTRACE, unix.CAP_CHECKPOINT_RESTORE, unix.CAP_DAC_READ_SEARCH}
	mapped := process.FS{}.TryMapFiles
	if confine.WithOnly(keep, mapped) != nil && mapped() == nil {
		keep = append(keep, unix.CAP_SYS_ADMIN) // before Linux 5.9
	}
	if err := confine.KeepCapabilities(keep...); err != nil && !errors.Is(err, confine.ErrBounding) {
		return err
	}
	if err := confine.NoNewPrivileges(); err != nil {
		return err
	}
	err := confine.Allow(slices.Concat(confine.Program(), confine.Reading(), confine.Always(unix.SYS_SENDMSG, unix.SYS_RECVMSG, unix.SYS_OPENAT2)))
	if errors.Is(err, confine.ErrNoFilter) {
		return nil
	}
	return err
}
