package session

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/host/limit"
	"ipytracer/internal/host/privileges"
	"ipytracer/internal/host/process"
	"ipytracer/internal/words"
	"ipytracer/tracer"
)

func newLimitCommand(c console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "limit PID [SIZE|auto|off]",
		Short: "Give a process a MemoryError before the OOM killer ends it",
		Long: "Limit how much memory a running process may map, until 'off'. " +
			"A cell that asks for more gets a MemoryError, and the\n" +
			"process lives. It is a soft RLIMIT_DATA, which counts what the meter cpu.mapped does.\n\n" +
			"'auto' is the largest safe size below the limits of the process's control groups " +
			"and the machine's memory. Without SIZE\n" +
			"the present limit is printed. Each process that it starts from then on has the same limit " +
			"for itself; those that run\n" +
			"already do not.\n\n" +
			"'tracer attach --limit SIZE' does the same for a session, for all processes of the tree, " +
			"and undoes it at the end.",
		Example: "  sudo tracer limit 4242 8GiB\n  sudo tracer limit 4242 auto\n  tracer limit 4242\n" +
			"  sudo tracer limit 4242 off",
		Args: console.Args(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error { return runLimit(cmd.Context(), c, args) },
	}
}

func runLimit(_ context.Context, c console.Console, args []string) error {
	pids, err := console.ParsePIDs(args[:1])
	if err != nil {
		return err
	}
	handle, err := (process.FS{}).Open(pids[0])
	if err != nil {
		return err
	}
	defer handle.Close()
	if len(args) == 1 {
		return printLimit(c.Out, pids[0])
	}
	if args[1] != "off" {
		return setLimit(c, handle.Identity(), args[1])
	}
	if err := becomeOwner(pids[0]); err != nil {
		return err
	}
	if err := limit.Clear(handle.Identity()); err != nil {
		return err
	}
	return printLimit(c.Err, pids[0])
}

func setLimit(c console.Console, id process.Identity, text string) error {
	size, err := limit.Parse(text)
	if err != nil {
		return console.Usagef("SIZE %w", err)
	}
	choice := limit.Choice{Bytes: size.Bytes}
	if size.Auto {
		if choice, err = limit.Choose(id.PID, 1); err != nil {
			return err
		}
	}
	if err := becomeOwner(id.PID); err != nil {
		return err
	}
	if err := limit.Set(id, choice.Bytes); err != nil {
		return err
	}
	c.Say("%s; 'tracer limit %d off' takes the limit away",
		Limited(tracer.Limited{PID: id.PID, Choice: choice}), id.PID)
	return nil
}

// becomeOwner makes this program run as the owner of a process. It fails if the invoker may not change that process. As
// the owner, this program needs no CAP_SYS_RESOURCE, and cannot change other users' processes.
func becomeOwner(pid int) error {
	owner, err := limit.UserOf(pid)
	if err != nil {
		return err
	}
	who, err := privileges.FindInvoker()
	if err == nil {
		err = who.MayChange(pid, owner.UID)
	}
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return nil // Linux decides
	}
	if err := limit.Become(owner); err != nil {
		return &limit.Error{PID: pid, Kind: err}
	}
	return nil
}

// printLimit prints the data that a process has mapped, and its limit.
func printLimit(to io.Writer, pid int) error {
	limits, err := (process.FS{}).Proc(pid).Rlimits()
	if err != nil {
		return err
	}
	status, err := (process.FS{}).Proc(pid).Status()
	if err != nil {
		return err
	}
	text := "has no limit"
	switch owner, bytes := limit.OwnerOf(limits.Data.Soft); owner {
	case limit.Session:
		text = fmt.Sprintf("may map %s, by --limit of a session that runs, or was killed: "+
			"then 'tracer limit %d off' takes the limit away", words.Bytes(bytes), pid)
	case limit.Command:
		text = fmt.Sprintf("may map %s, by 'tracer limit'; 'tracer limit %d off' takes the limit away",
			words.Bytes(bytes), pid)
	case limit.Other:
		text = fmt.Sprintf("may map %s, by its own limit (ulimit -d)", words.Bytes(bytes))
	}
	_, err = fmt.Fprintf(to, "process %d has mapped %s and %s\n", pid, words.Bytes(status.DataBytes), text)
	return err
}
