package inventory

import (
	"errors"
	"fmt"
	"os"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/gpu"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
)

// errLibraryUnread says that it cannot be seen whether a process uses CUDA.
var errLibraryUnread = errors.New("the mappings of the process cannot be read")

// errStopped says that a process is stopped. The driver's calls need a thread of the process to run.
var errStopped = errors.New("the process is stopped")

// moveError is a failed move of a process's memory, with the state of the process.
type moveError struct {
	pid int
	aim gpu.Aim
	out gpu.Outcome
	err error
}

func (e *moveError) Error() string { return e.err.Error() }
func (e *moveError) Unwrap() error { return e.err }

// describeState returns the state of the process and how to go on, to follow the message; "" if there is nothing to
// say.
func (e *moveError) describeState() string {
	restore := fmt.Sprintf("'sudo tracer gpu restore %d'", e.pid)
	switch {
	case errors.Is(e.err, gpu.ErrGone), errors.Is(e.err, gpu.ErrGained):
		return ""
	case !e.out.Known:
		return "; its state is not known yet: the driver's call goes on in the background; later " + restore +
			" lets the process go on, or says why it cannot"
	case e.out.After == gpu.CUDARunning:
		return "; the process runs, its memory is where it was"
	case e.out.After == gpu.CUDALocked:
		return "; its memory is in place, and its calls of CUDA wait: " + restore + " lets it go on"
	case e.out.After == gpu.CUDACheckpointed:
		return "; its memory is on the host, and its calls of CUDA wait: " + restore + " brings it back"
	case e.out.After == gpu.CUDAFailed:
		return "; the driver cannot repair that: the process has to be ended"
	}
	return fmt.Sprintf("; the driver reports the state %q: another tool is moving it", e.out.After)
}

// Explain returns the exit status of a failed move and the message ([console.Explain]).
func (e *moveError) Explain() (code int, message string) {
	err := e.err
	var none *gpu.NoCheckpointsError
	var failed *gpu.CUDAError
	var state *gpu.StateError
	var room *gpu.RoomError
	who := fmt.Sprintf("process %d", e.pid)
	switch {
	case errors.Is(err, errLibraryUnread) && os.Geteuid() == 0:
		return console.CannotTrace,
			fmt.Sprintf("whether %s uses CUDA cannot be seen: this root has no CAP_SYS_PTRACE (a container?)", who)
	case errors.Is(err, errLibraryUnread):
		return console.CannotTrace, fmt.Sprintf("you may not see the mappings of %s; type %s", who, console.AsRoot)
	case errors.Is(err, errStopped):
		return console.Failed, fmt.Sprintf("%s is stopped (SIGSTOP, Ctrl-Z, or a debugger), and the driver needs it "+
			"to run: 'kill -CONT %d' first", who, e.pid)
	case errors.Is(err, gpu.ErrNoCUDA):
		return console.WrongUsage,
			fmt.Sprintf("%s does not use CUDA: %v; 'tracer gpu' lists those that do", who, gpu.ErrNoCUDA)
	case errors.As(err, &none):
		return console.CannotTrace, none.Error()
	case errors.As(err, &room):
		return console.Failed,
			fmt.Sprintf("%s holds %s on its GPUs, and there is room for %s on the host (%s): "+
				"the OOM killer might end a process; --force moves the memory all the same",
				who, words.Bytes(room.Need), words.Bytes(room.Room), escape.Text(room.Why))
	case errors.Is(err, gpu.ErrGone):
		return console.Failed, who + " has ended meanwhile"
	case errors.Is(err, gpu.ErrGained):
		return console.CannotTrace, who + " has more rights than its user (it runs a set-user-ID program, " +
			"has capabilities, or became another user): root may move it, in a shell of its own ('sudo su -')"
	case errors.Is(err, console.ErrInterrupted):
		return console.Failed, "interrupted" + e.describeState()
	case errors.As(err, &state):
		return console.Failed, notInState(who, e, state.State)
	case errors.As(err, &failed):
		code, why := driverFailed(e, failed)
		return code, fmt.Sprintf("%s: %v%s%s", who, e.err, why, e.describeState())
	}
	return console.Failed, fmt.Sprintf("%s: %v%s", who, e.err, e.describeState())
}

// notInState returns the message for a process whose state does not allow the move.
func notInState(who string, e *moveError, s gpu.CUDAState) string {
	if s == gpu.CUDALocked {
		return fmt.Sprintf("%s is locked already, by another tool, or by a tracer that was killed%s", who,
			e.describeState())
	}
	return fmt.Sprintf("%s cannot be moved%s", who, e.describeState())
}

// driverFailed returns the exit status of a failed call of the driver, and the likely reason in brackets, "" if
// unknown.
func driverFailed(e *moveError, failed *gpu.CUDAError) (code int, why string) {
	switch failed.Code {
	case gpu.CUDANotReady:
		return console.Failed, " (its work on the GPUs has not ended in time; give it longer with --timeout)"
	case gpu.CUDANotPermitted:
		if os.Geteuid() != 0 {
			return console.CannotTrace, " (type 'sudo tracer gpu …')"
		}
		return console.CannotTrace,
			" (the driver does not permit it; it has been seen without persistence mode: 'sudo nvidia-smi -pm 1')"
	case gpu.CUDANotSupported:
		return console.CannotTrace, " (the driver cannot move all of its memory, such as memory that processes share)"
	case gpu.CUDANoDevice:
		return console.CannotTrace, " (the driver finds no GPU)"
	case gpu.CUDAInvalidValue:
		return console.Failed,
			" (the process has loaded CUDA and not initialized it, or the driver cannot reach the process)"
	case gpu.CUDAOutOfMemory:
		if e.aim == gpu.AimBack {
			return console.Failed, " (its GPU has no room: 'tracer gpu' lists who holds the memory)"
		}
	}
	return console.Failed, ""
}
