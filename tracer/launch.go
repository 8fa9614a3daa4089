package tracer

// [Launch] starts a command that is traced from its first instruction. The caller decides as which user it
// runs, and uses the session.

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// NotStartedError is the reason why a command could not be started.
type NotStartedError struct {
	Name string // of the command, as it was typed
	Err  error
}

func (e *NotStartedError) Error() string { return fmt.Sprintf("run %s: %v", e.Name, e.Err) }

// Unwrap is the cause.
func (e *NotStartedError) Unwrap() error { return e.Err }

// Launch starts a command stopped at its exec (ptrace), attaches, and lets it go. On an error the command,
// if it was started, is killed.
func Launch(cmd *exec.Cmd, options Options) (*Session, error) {
	// The thread that starts a ptraced child is its tracer: all that is done to it must be done from here.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Ptrace = true
	if options.Heap && !options.HeapProbes {
		offer, err := offerHeap(cmd)
		if err != nil && options.Log != nil {
			options.Log.Info("malloc's blocks are seen by probes", "why", err)
		}
		options.heapOffer = offer
		defer func() { _ = offer.close() }()
	}
	if err := cmd.Start(); err != nil {
		return nil, &NotStartedError{cmd.Args[0], err}
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(cmd.Process.Pid, &status, 0, nil); err != nil || !status.Stopped() {
		return nil, errors.Join(fmt.Errorf("run %s: it did not stop at its start", cmd.Args[0]), err,
			cmd.Process.Kill())
	}
	// A confined program can kill nothing any more. So the command ends with this program, unless it was let go.
	if err := unix.PtraceSetOptions(cmd.Process.Pid, unix.PTRACE_O_EXITKILL); err != nil {
		return nil, errors.Join(fmt.Errorf("run %s: %w", cmd.Args[0], err), cmd.Process.Kill())
	}
	kill := func() error {
		if options.Confine != nil {
			return nil
		}
		return cmd.Process.Kill()
	}
	live, err := attachStopped(cmd.Process.Pid, options)
	if err != nil {
		return nil, errors.Join(err, kill())
	}
	if err := unix.PtraceDetach(cmd.Process.Pid); err != nil {
		return nil, errors.Join(fmt.Errorf("let %s go: %w", cmd.Args[0], err), live.Close(), kill())
	}
	return live, nil
}
