package console

import (
	"errors"
	"fmt"
	"os"

	"ipytracer/internal/host/limit"
	"ipytracer/internal/words"
)

// explainLimit is [Explain] for errors of limits; ok is false for other errors.
func explainLimit(err error) (status int, message string, ok bool) {
	var e *limit.Error
	var room *limit.RoomError
	size := func() string { return words.Bytes(e.Size) }
	switch {
	case errors.As(err, &room):
		return Failed,
			fmt.Sprintf("process %d has mapped %s already and occupies %s: no larger limit is safe below %q; "+
				"close what needs memory, or give a SIZE",
				room.PID, words.Bytes(room.Mapped), words.Bytes(room.Resident), room.Why), true
	case errors.Is(err, limit.ErrIgnored):
		return CannotTrace, err.Error(), true
	case !errors.As(err, &e):
		return 0, "", false
	case errors.Is(err, limit.ErrMapped):
		return WrongUsage, fmt.Sprintf("process %d has mapped %s already; a limit must be larger", e.PID, size()), true
	case errors.Is(err, limit.ErrHard):
		return WrongUsage,
			fmt.Sprintf("the hard limit of process %d is %s (ulimit -Hd); a limit must not be larger", e.PID, size()),
			true
	case errors.Is(err, limit.ErrTighter):
		return WrongUsage,
			fmt.Sprintf("process %d may map %s only, by a limit of its own (ulimit -d); "+
				"'tracer limit %d off' takes that away", e.PID, size(), e.PID), true
	case os.Geteuid() != 0:
		return CannotTrace, fmt.Sprintf("you may not set the limits of process %d; type %s", e.PID, AsRoot), true
	}
	return CannotTrace,
		fmt.Sprintf("%v; run tracer with CAP_SETUID and CAP_SETGID, or CAP_SYS_RESOURCE, "+
			"and on a process that is not set-user-id", err), true
}
