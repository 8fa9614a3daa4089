package process

import (
	"errors"
	"fmt"
)

// The kinds of errors, for [errors.Is]. An error that is due to a process is an [*Error].
var (
	ErrNoProcess    = errors.New("no process")                       // the process has ended, or never existed
	ErrNotPermitted = errors.New("not permitted")                    // this program may not look into the process
	ErrZombie       = errors.New("zombie")                           // the process has ended, but was not reaped yet
	ErrNotPython    = errors.New("no Python interpreter")            // none of the process's files is an interpreter
	ErrChanged      = errors.New("mapping changed")                  // another file is mapped there now
	ErrTooLarge     = errors.New("too large")                        // more than this package reads
	ErrMalformed    = errors.New("malformed proc file")              // not of the form that proc(5) describes
	ErrNoAnswer     = errors.New("file system does not answer")      // or another server that the read waits for
	ErrClosed       = errors.New("process handle is already closed") // by Handle.Close
)

// Error is an error about a process, and names the process.
type Error struct {
	PID    int
	Kind   error // one of this package's Err values
	Leader int   // if PID is the id of a thread: the thread's process; else 0
	Cause  error // the system's error, or nil
}

// Error returns a sentence without a capital letter that names the process.
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

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}
