package process

import (
	"errors"
	"fmt"
)

// The kinds of errors about processes. Errors of this package match one of these with [errors.Is] and are an [*Error]
// wherever a process is to blame.
var (
	ErrNoProcess    = errors.New("no process")            // there is none, or it ended meanwhile
	ErrNotPermitted = errors.New("not permitted")         // it is there, we may not look into it
	ErrZombie       = errors.New("zombie")                // it ended and waits for its parent
	ErrNotPython    = errors.New("no Python interpreter") // none of its files is an interpreter
	ErrChanged      = errors.New("mapping changed")       // the file mapped there is another one now
	ErrTooLarge     = errors.New("too large")             // more than this package is willing to read
	ErrMalformed    = errors.New("malformed proc file")   // not of the form that proc(5) describes
	// the server of a file system, or of memory of its own, is silent
	ErrNoAnswer = errors.New("file system does not answer")
	ErrClosed   = errors.New("process handle is already closed") // the handle was closed
)

// Error is an error about a process, which it names.
type Error struct {
	PID    int
	Kind   error // one of this package's Err values
	Leader int   // the process PID is a thread of; 0 unless PID turned out to be a thread id
	Cause  error // the system's error, or nil
}

// Error words the problem as one lower-case sentence that names the process.
func (e *Error) Error() string {
	switch {
	case e.Leader != 0:
		return fmt.Sprintf("%d is a thread of process %d", e.PID, e.Leader)
	case e.Kind == ErrNoProcess:
		return fmt.Sprintf("no process %d", e.PID)
	case e.Kind == ErrNotPermitted:
		return fmt.Sprintf("process %d: not permitted to look into it", e.PID)
	case e.Kind == ErrZombie:
		return fmt.Sprintf("process %d has ended and waits for its parent (zombie)", e.PID)
	case e.Kind == ErrNoAnswer && e.Cause != nil:
		return fmt.Sprintf("process %d: %v", e.PID, e.Cause)
	case e.Kind == ErrNotPython:
		return fmt.Sprintf("process %d holds no Python interpreter", e.PID)
	case e.Cause != nil:
		return fmt.Sprintf("process %d: %v: %v", e.PID, e.Kind, e.Cause)
	}
	return fmt.Sprintf("process %d: %v", e.PID, e.Kind)
}

// Unwrap gives the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}
