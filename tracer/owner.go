package tracer

import (
	"errors"
	"fmt"

	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/tracee"
)

// OwnerError is the error for a target that does not belong to the required owner ([Options.Owner]), or has further
// rights.
type OwnerError struct {
	PID        int
	Owner, UID uint32 // the required user, and the process's user
	err        error
}

// Error returns a sentence with both users.
func (e *OwnerError) Error() string {
	if e.UID == e.Owner {
		return fmt.Sprintf("process %d of user %d must not have further rights", e.PID, e.UID)
	}
	return fmt.Sprintf("process %d is user %d's, and only one of user %d is wanted", e.PID, e.UID, e.Owner)
}

// Unwrap returns the refusal, which is [process.ErrNotPermitted].
func (e *OwnerError) Unwrap() error { return e.err }

// ownership is the required owner of a session's targets ([Options.Owner]).
type ownership struct {
	fs    process.FS
	owner *uint32 // nil: any user
}

// check fails with an [OwnerError] if a target does not belong to the required owner, or has further rights.
func (o ownership) check(targets []*tracee.Target) error {
	if o.owner == nil {
		return nil
	}
	for _, t := range targets {
		err := process.RightsOf(*o.owner).MayLook(o.fs, t.PID)
		if errors.Is(err, process.ErrNotPermitted) {
			if has, failed := o.fs.Proc(t.PID).Status(); failed == nil {
				err = &OwnerError{t.PID, *o.owner, has.UID, err}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isLost reports whether a live target belongs to another user now, or has gained rights. It returns true if that
// cannot be determined.
func (o ownership) isLost(t *tracee.Target) bool {
	return o.check([]*tracee.Target{t}) != nil && t.Lives() == nil
}
