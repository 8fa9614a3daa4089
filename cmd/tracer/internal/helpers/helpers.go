// Package helpers has the hidden commands by which the program starts itself: processes with fewer rights than a
// session's, or ones that may be killed.
package helpers

import (
	"errors"
	"maps"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/doctor"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/cmd/tracer/internal/workload"
	"ipytracer/internal/gpu"
	"ipytracer/internal/host/invoker"
	"ipytracer/internal/host/limit"
	"ipytracer/internal/host/look"
	"ipytracer/internal/serving"
)

// Commands returns the hidden commands by which the program starts itself, with fewer rights than its own.
func Commands(c console.Console) []*cobra.Command {
	return []*cobra.Command{
		newFilesCommand(), newNVMLCommand(), newLookCommand(c), newBareCommand(),
		status.Hidden(limit.GuardCommand+" UID GID", "Keep a session's limits; started by tracer itself",
			cobra.ExactArgs(2),
			func(_ *cobra.Command, args []string) error { return guard(c, args) }),
		status.Hidden(serving.PorterCommand,
			"Have connections open for a server until killed; started by tracer itself",
			cobra.NoArgs, func(*cobra.Command, []string) error {
				serving.AwaitKill()
				return nil
			}),
		status.Hidden(gpu.WorkerCommand+" PID START AIM UID",
			"Call NVIDIA's driver for a process; started by tracer itself", cobra.ExactArgs(4),
			func(_ *cobra.Command, args []string) error {
				task, err := gpu.ParseTask(args)
				if err != nil {
					return status.Usage(err)
				}
				return task.Serve(c.In, c.Out)
			}),
		status.Hidden("workload NAME", "Run one workload of the self-test", cobra.ExactArgs(1),
			func(_ *cobra.Command, args []string) error { return runWorkload(c, args[0]) }),
	}
}

// guard holds a session's limits, as the owner of the processes.
func guard(c console.Console, args []string) error {
	uid, err1 := invoker.ParseID(args[0])
	gid, err2 := invoker.ParseID(args[1])
	if err := errors.Join(err1, err2); err != nil {
		return status.Usage(err)
	}
	return limit.Serve(limit.User{UID: uid, GID: gid}, os.Stdin, os.Stdout)
}

// runWorkload runs a workload or a loop of known costs.
func runWorkload(c console.Console, name string) error {
	if name == "costs" {
		return doctor.PrintCosts(c.Out)
	}
	err := workload.Run(name)
	if errors.Is(err, workload.ErrUnknown) {
		return status.Usage(err)
	}
	return err
}

// newNVMLCommand returns the command that queries NVML for a session.
func newNVMLCommand() *cobra.Command {
	var user string
	cmd := status.Hidden(gpu.HelperCommand, "Ask NVIDIA's driver for a session; started by tracer itself", cobra.NoArgs,
		func(*cobra.Command, []string) error {
			as, err := gpu.ParseHelperUser(user)
			if err != nil {
				return status.Usage(err)
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
	return status.Hidden(look.Command, "Look into processes; started by tracer itself", cobra.RangeArgs(1, 2),
		func(cmd *cobra.Command, args []string) error {
			signal.Ignore(syscall.SIGINT, syscall.SIGHUP) // its parent ends it
			what, ok := looks[args[0]]
			if !ok {
				return status.Usagef("%q is not a kind of look", args[0])
			}
			pids, err := status.ParsePIDs(args[1:])
			if err != nil {
				return err
			}
			return look.Serve(cmd.Context(), c.In, c.Out, what, append(pids, 0)[0])
		})
}
