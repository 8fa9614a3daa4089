package main

// This file has the hidden commands by which the program starts itself: processes with fewer rights than a session's,
// or ones that may be killed.

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/doctor"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/code/cuda"
	"ipytracer/internal/gpu"
	"ipytracer/internal/host/limit"
	"ipytracer/internal/host/privileges"
	"ipytracer/internal/host/process"
	"ipytracer/internal/host/processor"
	"ipytracer/internal/ledger"
	"ipytracer/internal/serving"
)

// hiddenCommands returns the hidden commands by which the program starts itself, with fewer rights than its own.
func hiddenCommands(c console.Console) []*cobra.Command {
	return []*cobra.Command{
		newFilesCommand(), newNVMLCommand(), newLookCommand(c), newBareCommand(),
		console.Hidden(limit.GuardCommand+" UID GID", "Keep a session's limits; started by tracer itself",
			cobra.ExactArgs(2), func(_ *cobra.Command, args []string) error { return guard(args) }),
		console.Hidden(serving.PorterCommand,
			"Have connections open for a server until killed; started by tracer itself",
			cobra.NoArgs, func(*cobra.Command, []string) error {
				serving.AwaitKill()
				return nil
			}),
		console.Hidden(gpu.WorkerCommand+" PID START AIM UID",
			"Call NVIDIA's driver for a process; started by tracer itself", cobra.ExactArgs(4),
			func(_ *cobra.Command, args []string) error {
				task, err := gpu.ParseTask(args)
				if err != nil {
					return console.Usage(err)
				}
				return task.Serve(c.In, c.Out)
			}),
		console.Hidden("workload NAME", "Run one workload of the self-test", cobra.ExactArgs(1),
			func(_ *cobra.Command, args []string) error { return runWorkload(c, args[0]) }),
	}
}

// guard sets the limits of a session's processes, as the processes' owner, and takes them away when the session has
// ended.
func guard(args []string) error {
	uid, uidErr := privileges.ParseID(args[0])
	gid, gidErr := privileges.ParseID(args[1])
	if err := errors.Join(uidErr, gidErr); err != nil {
		return console.Usage(err)
	}
	return limit.Serve(limit.User{UID: uid, GID: gid}, os.Stdin, os.Stdout)
}

// runWorkload runs a workload of the self-test, or measures the costs of probes for the doctor.
func runWorkload(c console.Console, name string) error {
	if name == "costs" {
		return doctor.PrintCosts(c.Out)
	}
	err := doctor.RunWorkload(name)
	if errors.Is(err, doctor.ErrNoWorkload) {
		return console.Usage(err)
	}
	return err
}

// newNVMLCommand returns the command that queries NVML for a session.
func newNVMLCommand() *cobra.Command {
	var user string
	cmd := console.Hidden(gpu.HelperCommand, "Ask NVIDIA's driver for a session; started by tracer itself",
		cobra.NoArgs, func(*cobra.Command, []string) error {
			as, err := gpu.ParseHelperUser(user)
			if err != nil {
				return console.Usage(err)
			}
			return gpu.ServeHelper(as)
		})
	cmd.Flags().StringVar(&user, "user", "", "who it becomes: ids of the user, the group, and further groups")
	return cmd
}

// newLookCommand returns the command that looks into processes without rights.
func newLookCommand(c console.Console) *cobra.Command {
	looks := maps.Clone(doctor.Looks)
	maps.Copy(looks, inventory.Looks)
	return console.Hidden(inventory.LookCommand, "Look into processes; started by tracer itself", cobra.RangeArgs(1, 2),
		func(cmd *cobra.Command, args []string) error {
			signal.Ignore(syscall.SIGINT, syscall.SIGHUP) // the parent ends this process
			kind, ok := looks[args[0]]
			if !ok {
				return console.Usagef("%q is not a kind of look", args[0])
			}
			pids, err := console.ParsePIDs(args[1:])
			if err != nil {
				return err
			}
			pid := append(pids, 0)[0] // 0 without one
			return inventory.ServeLook(cmd.Context(), c.In, c.Out, kind, pid)
		})
}

// newFilesCommand returns the command that opens and reads files for a session: files that the session has given up the
// right to open, and files on file systems that may never answer.
func newFilesCommand() *cobra.Command {
	var scope string
	var signals, first bool
	var owner uint32
	cmd := console.Hidden(process.HelperCommand, "Open and read files for a session; started by tracer itself",
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

// confineHelper leaves the helper only the rights to read the files and the memory of other processes, to send them
// signals if signals is true, and to set the nice values of priority unless that is nil.
func confineHelper(signals bool, priority *processor.Priority) error {
	keep := []uint{unix.CAP_SYS_PTRACE, unix.CAP_CHECKPOINT_RESTORE, unix.CAP_DAC_READ_SEARCH}
	mapped := process.FS{}.TryMapFiles
	if privileges.WithOnly(keep, mapped) != nil && mapped() == nil {
		keep = append(keep, unix.CAP_SYS_ADMIN) // before Linux 5.9
	}
	if signals {
		keep = append(keep, unix.CAP_KILL)
	}
	if priority != nil {
		keep = append(keep, unix.CAP_SYS_NICE)
	}
	if err := privileges.KeepCapabilities(keep...); err != nil {
		return err
	}
	rules := slices.Concat(privileges.Program(), privileges.Reading(),
		privileges.Always(unix.SYS_SENDMSG, unix.SYS_RECVMSG, unix.SYS_OPENAT2,
			unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_GETSOCKOPT),
		[]privileges.Rule{
			privileges.OneOf(unix.SYS_KILL, 1, 0),
			// The link to a notebook is one end of a socket pair.
			privileges.OneOf(unix.SYS_SOCKETPAIR, 0, unix.AF_UNIX),
			{
				Call: unix.SYS_SETSOCKOPT,
				When: [][]privileges.Test{{privileges.Is(1, unix.SOL_SOCKET), privileges.Is(2, unix.SO_PASSRIGHTS)}},
			},
			privileges.OneOf(unix.SYS_IOCTL, 1, unix.TIOCOUTQ),
		})
	if signals {
		for _, s := range process.Passed {
			rules = append(rules, privileges.OneOf(unix.SYS_PIDFD_SEND_SIGNAL, 1, uint32(s)))
		}
	}
	if priority != nil {
		usual, raised := priority.Values()
		for _, nice := range []int{usual, raised} {
			rules = append(rules, privileges.Rule{Call: unix.SYS_SETPRIORITY, When: [][]privileges.Test{
				{privileges.Is(0, unix.PRIO_PROCESS), privileges.Is(2, uint32(nice))}}})
		}
	}
	err := privileges.AllowCalls(rules)
	if errors.Is(err, privileges.ErrNoFilter) {
		return nil
	}
	return err
}

// newBareCommand returns a command for the benchmark. It places probes that do nothing where a session would place its
// own.
func newBareCommand() *cobra.Command {
	var ready string
	cmd := console.Hidden("bare-probes PID LIBRARY",
		"Put probes that do nothing where those on a GPU library would be, until interrupted", cobra.ExactArgs(2),
		func(cmd *cobra.Command, args []string) error {
			pids, err := console.ParsePIDs(args[:1])
			if err != nil {
				return err
			}
			return runBare(cmd.Context(), pids[0], args[1], ready)
		})
	cmd.Flags().StringVar(&ready, "ready-file", "", "create `FILE` once the probes are in place")
	return cmd
}

func runBare(ctx context.Context, pid int, library, ready string) error {
	kind, ok := cuda.KindOf(library)
	if !ok {
		return console.Usagef("%s is not a library that sessions put probes on", library)
	}
	rights, err := privileges.FindRights()
	if err != nil {
		return err
	}
	defer rights.Close()
	f, err := rights.Open(library)
	if err != nil {
		return err
	}
	defer f.Close()
	sites, err := cuda.Find(f, kind)
	if err != nil {
		return err
	}
	l, err := ledger.Load(ledger.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	probes, err := l.Probes.Probe(f, pid, barePlacements(sites))
	if err != nil {
		return err
	}
	defer probes.Close()
	if ready != "" {
		if err := createEmpty(rights, ready); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// barePlacements returns the placements of probes that do nothing, at the functions of a GPU library.
func barePlacements(sites cuda.Sites) []ledger.Placement {
	enter, leave := ledger.Placement{Program: ledger.CalibrateEntry}, ledger.Placement{Program: ledger.CalibrateReturn}
	for _, site := range sites.Driver {
		enter.Offsets, leave.Offsets = append(enter.Offsets, site.Offset), append(leave.Offsets, site.Offset)
	}
	if sites.Report.Symbol != "" {
		enter.Offsets = append(enter.Offsets, sites.Report.Offset)
	}
	if len(leave.Offsets) == 0 {
		return []ledger.Placement{enter}
	}
	return []ledger.Placement{leave, enter}
}

func createEmpty(rights *privileges.Rights, path string) error {
	f, err := rights.Create(path, false)
	if err != nil {
		return err
	}
	return errors.Join(f.Commit(), f.Close())
}
