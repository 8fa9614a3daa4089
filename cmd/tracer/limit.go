package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ipytracer/internal/host/invoker"
	"ipytracer/internal/host/limit"
	"ipytracer/internal/host/process"
	"ipytracer/internal/words"
	"ipytracer/tracer"
)

func newLimitCommand(c console) *cobra.Command {
	return &cobra.Command{
		Use:   "limit PID [SIZE|auto|off]",
		Short: "Let a process have a MemoryError instead of the OOM killer",
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
		Args: usageArgs(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error { return runLimit(cmd.Context(), c, args) },
	}
}

func runLimit(_ context.Context, c console, args []string) error {
	pids, err := parsePIDs(args[:1])
	if err != nil {
		return usageError{err}
	}
	h, err := (process.FS{}).Open(pids[0])
	if err != nil {
		return err
	}
	defer h.Close()
	if len(args) == 1 {
		return printLimit(c.out, pids[0])
	}
	if args[1] != "off" {
		return setLimit(c, h.Identity(), args[1])
	}
	if err := becomeOwner(pids[0]); err != nil {
		return err
	}
	if err := limit.Clear(h.Identity()); err != nil {
		return err
	}
	return printLimit(c.err, pids[0])
}

func setLimit(c console, id process.Identity, text string) error {
	size, err := limit.Parse(text)
	if err != nil {
		return usageError{fmt.Errorf("SIZE %w", err)}
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
	_, err = fmt.Fprintf(c.err, "tracer: %s; 'tracer limit %d off' takes the limit away\n",
		limited(tracer.Limited{PID: id.PID, Choice: choice}), id.PID)
	return err
}

// becomeOwner makes this program the user of the process, if that is another user and the invoker may change the
// process. So it needs no CAP_SYS_RESOURCE, and cannot change other users' processes.
func becomeOwner(pid int) error {
	u, err := limit.UserOf(pid)
	if err != nil {
		return err
	}
	who, err := invoker.Find()
	if err == nil {
		err = who.MayChange(pid, u.UID)
	}
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return nil // the kernel decides
	}
	if err := limit.Become(u); err != nil {
		return &limit.Error{PID: pid, Kind: err}
	}
	return nil
}

// printLimit prints the present limit.
func printLimit(w io.Writer, pid int) error {
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
	_, err = fmt.Fprintf(w, "process %d has mapped %s and %s\n", pid, words.Bytes(status.DataBytes), text)
	return err
}

// limited returns a text with the limit of a process.
func limited(l tracer.Limited) string {
	text := fmt.Sprintf("process %d may map %s", l.PID, words.Bytes(l.Bytes))
	if l.Why != "" {
		text += fmt.Sprintf(", which is safe below %q", l.Why)
	}
	return text
}

// sayLimits reports the limits that a session has set or found.
func sayLimits(c console, live *tracer.Session, quiet bool) {
	for _, l := range live.LeftLimits() {
		fmt.Fprintf(c.err, "tracer: process %d may map %s only: a tracer that was killed has left that limit, "+
			"or one that runs has set it; 'sudo tracer limit %d off' takes it away\n",
			l.PID, words.Bytes(l.Bytes), l.PID)
	}
	if quiet {
		return
	}
	for _, l := range live.Limited() {
		fmt.Fprintf(c.err, "tracer: --limit: %s; so may each process that it starts\n", limited(l))
	}
}

// parseLimit reads --limit.
func parseLimit(text string) (limit.Size, error) {
	if text == "" {
		return limit.Size{}, nil
	}
	size, err := limit.Parse(text)
	if err != nil {
		return size, usageError{fmt.Errorf("--limit %w", err)}
	}
	return size, nil
}

// newGuardCommand returns the hidden command that holds a session's limits, as the owner of the processes.
func newGuardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    limit.GuardCommand + " UID GID",
		Short:  "Keep a session's limits; started by tracer itself",
		Hidden: true,
		Args:   usageArgs(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			uid, err1 := invoker.ParseID(args[0])
			gid, err2 := invoker.ParseID(args[1])
			if err := errors.Join(err1, err2); err != nil {
				return usageError{err}
			}
			return limit.Serve(limit.User{UID: uid, GID: gid}, os.Stdin, os.Stdout)
		},
	}
}

// notLimited explains an error of a limit; ok is false for other errors.
func notLimited(err error) (status int, message string, ok bool) {
	var e *limit.Error
	var room *limit.RoomError
	size := func() string { return words.Bytes(e.Size) }
	switch {
	case errors.As(err, &room):
		return statusFailed,
			fmt.Sprintf("process %d has mapped %s already and occupies %s: no larger limit is safe below %q; "+
				"close what needs memory, or give a SIZE",
				room.PID, words.Bytes(room.Mapped), words.Bytes(room.Resident), room.Why), true
	case errors.Is(err, limit.ErrIgnored):
		return statusCannotTrace, err.Error(), true
	case !errors.As(err, &e):
		return 0, "", false
	case errors.Is(err, limit.ErrMapped):
		return statusUsage, fmt.Sprintf("process %d has mapped %s already; a limit must be larger", e.PID, size()), true
	case errors.Is(err, limit.ErrHard):
		return statusUsage,
			fmt.Sprintf("the hard limit of process %d is %s (ulimit -Hd); a limit must not be larger", e.PID, size()),
			true
	case errors.Is(err, limit.ErrTighter):
		return statusUsage,
			fmt.Sprintf("process %d may map %s only, by a limit of its own (ulimit -d); "+
				"'tracer limit %d off' takes that away", e.PID, size(), e.PID), true
	case os.Geteuid() != 0:
		return statusCannotTrace, fmt.Sprintf("you may not set the limits of process %d; type %s", e.PID, asRoot), true
	}
	return statusCannotTrace,
		fmt.Sprintf("%v; run tracer with CAP_SETUID and CAP_SETGID, or CAP_SYS_RESOURCE, "+
			"and on a process that is not set-user-id", err), true
}
