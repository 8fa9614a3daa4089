package inventory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/gpu"
	"ipytracer/internal/host/privileges"
	"ipytracer/internal/host/process"
	"ipytracer/internal/words"
)

// moveOptions are the flags of `tracer gpu yield` and `tracer gpu restore`.
type moveOptions struct {
	Timeout time.Duration
	Force   bool
}

func newYieldCommand(c console.Console) *cobra.Command {
	var options moveOptions
	cmd := &cobra.Command{
		Use:   "yield PID",
		Short: "Move a process's GPU memory to the host, so that others can have the GPU",
		Long: "Move all GPU memory of a running process to the host's memory, " +
			"by the checkpoint calls of NVIDIA's driver (570 or newer). The process lives;\n" +
			"its calls of CUDA wait until 'tracer gpu restore PID'. What it computes on the CPU goes on. " +
			"Nothing is installed in it, and it notices nothing else.\n\n" +
			"Ctrl-C undoes it: the memory comes back, and the process goes on. If tracer is killed, " +
			"a process that was only locked is unlocked;\n" +
			"'tracer gpu restore PID' picks up whatever is left.\n\n" +
			"Exit status: 0, also where its memory is on the host already; 1 if the driver failed, or it was undone; " +
			"2 for a process that does not use CUDA;\n" +
			"3 where the driver cannot, or may not, do it.",
		Example: "  sudo tracer gpu yield 4242\n  sudo tracer gpu restore 4242",
		Args:    console.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runMove(cmd.Context(), c, options, gpu.AimOut, args)
		},
	}
	cmd.Flags().DurationVar(&options.Timeout, "timeout", 30*time.Second,
		"wait this `TIME` at most for what runs on its GPUs, such as 30s or 2m")
	cmd.Flags().BoolVar(&options.Force, "force", false, "move it even where the host seems to have no room for it")
	return cmd
}

func newRestoreCommand(c console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "restore PID",
		Short: "Bring the GPU memory of a process back, and let it go on",
		Long: "Bring back what 'tracer gpu yield' has moved, and let the process go on, " +
			"from whatever state it was left in: one that is only locked is\n" +
			"unlocked. Once begun it is not interrupted. If the GPU has no room, the memory stays on the host; " +
			"try again when there is.\n\n" +
			"Exit status: 0, also where the process runs already; 1 if the driver failed; " +
			"2 for a process that does not use CUDA; 3 where the driver cannot,\n" +
			"or may not, do it.",
		Example: "  sudo tracer gpu restore 4242",
		Args:    console.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runMove(cmd.Context(), c, moveOptions{Timeout: quickCall}, gpu.AimBack, args)
		},
	}
}

// openMovable opens a process. It fails if the user may not move the process's memory, or the driver cannot.
func openMovable(who *privileges.Invoker, pid int) (*process.Handle, error) {
	h, err := (process.FS{}).Open(pid)
	var located *process.Error
	if errors.As(err, &located) && located.Leader != 0 {
		return nil, console.Usagef("%w; take that one", err)
	} else if err != nil {
		return nil, err
	}
	fail := func(err error) (*process.Handle, error) { return nil, errors.Join(err, h.Close()) }
	if err := mayMove(who, h); err != nil {
		return fail(err)
	}
	switch err := gpu.UsesCUDA(process.FS{}, pid); {
	case errors.Is(err, process.ErrNotPermitted):
		return fail(&moveError{pid: pid, err: errLibraryUnread})
	case errors.Is(err, gpu.ErrNoCUDA):
		return fail(&moveError{pid: pid, err: err})
	case err != nil:
		return fail(err)
	}
	if stat, err := (process.FS{}).Proc(pid).Stat(); err == nil && (stat.State == 'T' || stat.State == 't') {
		return fail(&moveError{pid: pid, err: errStopped})
	}
	return h, nil
}

// mayMove returns nil if the user of the command may move a process's memory. Otherwise it returns an
// [*privileges.Refusal], or [gpu.ErrGained] for a process with more rights than its user.
func mayMove(who *privileges.Invoker, h *process.Handle) error {
	pid := h.Identity().PID
	status, err := (process.FS{}).Proc(pid).Status()
	if err != nil {
		return err
	}
	if err := who.MayChange(pid, status.UID); err != nil {
		return err
	}
	if err := who.MayChange(pid, status.EUID); err != nil {
		return err
	}
	err = h.CoveredBy(process.RightsOf(who.UID))
	if errors.Is(err, process.ErrNotPermitted) {
		return &moveError{pid: pid, err: gpu.ErrGained}
	}
	return err
}

func runMove(ctx context.Context, c console.Console, options moveOptions, aim gpu.Aim, args []string) error {
	pids, err := console.ParsePIDs(args)
	if err != nil {
		return err
	}
	if options.Timeout <= 0 {
		return console.Usagef("--timeout must be more than 0")
	}
	who, err := privileges.FindInvoker()
	if err != nil {
		return err
	}
	h, err := openMovable(who, pids[0])
	if err != nil {
		return err
	}
	defer h.Close()
	memory := &memoryReader{pids[0]}
	shown := newMoveProgress(c, pids[0], memory)
	defer shown.stop()
	undo, leave := make(chan struct{}), make(chan struct{})
	takeSignals(c, shown, aim, undo, leave)
	defer c.Signals.HandTo(nil)
	began := time.Now()
	worker, err := gpu.StartWorker(h.Identity(), who.UID, aim, leave, gpu.Limits{Ask: quickCall, Move: longMove})
	if err != nil {
		return &moveError{pid: pids[0], aim: aim, err: err}
	}
	defer worker.Close()
	if aim == gpu.AimOut && !options.Force {
		if err := checkRoom(ctx, shown, memory, pids[0]); err != nil {
			return err
		}
	}
	mover := gpu.Mover{Driver: worker, Patience: options.Timeout, Tell: shown.step, Regret: undo}
	move := mover.Out
	if aim == gpu.AimBack {
		move = mover.Back
	}
	out, err := move()
	shown.stop()
	if err == nil && out.Undone {
		err = console.ErrInterrupted
	}
	if err != nil {
		return &moveError{pid: pids[0], aim: aim, out: out, err: err}
	}
	return sayMoved(ctx, c, pids[0], aim, out, memory, time.Since(began))
}

// takeSignals catches requests to end the program. The first closes undo, the second closes leave.
func takeSignals(c console.Console, shown *moveProgress, aim gpu.Aim, undo, leave chan struct{}) {
	var mu sync.Mutex
	requests := 0
	c.Signals.HandTo(func(os.Signal) {
		mu.Lock()
		defer mu.Unlock()
		requests++
		switch {
		case requests == 1 && aim == gpu.AimOut:
			close(undo)
			shown.say("tracer: a call of the driver cannot be interrupted; the move is undone as soon as the call " +
				"has ended. Ctrl-C once more leaves without waiting")
		case requests == 1:
			close(undo)
			shown.say("tracer: the restore goes on, or the process would wait for ever. " +
				"Ctrl-C once more leaves without waiting")
		case requests == 2:
			close(leave)
		}
	})
}

// checkRoom returns an error if the host has no room for the process's GPU memory: the OOM killer might end a process.
func checkRoom(ctx context.Context, shown *moveProgress, memory *memoryReader, pid int) error {
	bytes, err := memory.read(ctx)
	if err != nil {
		shown.say(fmt.Sprintf("tracer: could not check whether the host has room: %v", err))
		return nil
	}
	if err := gpu.HasRoom(process.FS{}, pid, bytes); err != nil {
		return &moveError{pid: pid, aim: gpu.AimOut, err: err}
	}
	return nil
}

// sayMoved prints the result of a move.
func sayMoved(ctx context.Context, c console.Console, pid int, aim gpu.Aim, out gpu.Outcome, memory *memoryReader,
	took time.Duration) error {
	if out.Before == out.After {
		if aim == gpu.AimOut {
			_, err := fmt.Fprintf(c.Out, "process %d: its GPU memory is on the host already; "+
				"'sudo tracer gpu restore %d' brings it back\n", pid, pid)
			return err
		}
		_, err := fmt.Fprintf(c.Out, "process %d runs: there is nothing to bring back\n", pid)
		return err
	}
	now := ""
	if bytes, err := memory.read(ctx); err == nil {
		now = fmt.Sprintf("; it holds %s on its GPUs now", words.Bytes(bytes))
	}
	text := fmt.Sprintf("process %d: its GPU memory is on the host, after %s%s\n"+
		"its calls of CUDA wait until 'sudo tracer gpu restore %d'\n", pid, words.Duration(int64(took)), now, pid)
	if aim == gpu.AimBack {
		text = fmt.Sprintf("process %d: its GPU memory is back, and it goes on, after %s%s\n",
			pid, words.Duration(int64(took)), now)
		if out.Before == gpu.CUDALocked {
			text = fmt.Sprintf("process %d was locked, its GPU memory in place, and goes on%s\n", pid, now)
		}
	}
	_, err := fmt.Fprint(c.Out, text)
	return err
}
