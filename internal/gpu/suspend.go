package gpu

// A [Mover] moves the device memory of a process that uses CUDA to the host, and back. It knows the order of the
// driver's calls. It undoes calls when one fails, or when the user changes their mind, so that no process is left
// waiting by mistake. The messages for people are in cmd/tracer.

import (
	"errors"
	"fmt"
	"time"
)

// Driver has the CUDA driver's calls on another process. It is a [Checkpoints], or a [Worker] that makes the same
// calls.
type Driver interface {
	State() (CUDAState, error)
	Lock(patience time.Duration) error
	Checkpoint() error
	Restore() error
	Unlock() error
}

// Step is the present step.
type Step int

// The steps.
const (
	Locking    Step = iota // waiting until the work on the GPUs is over
	MovingOut              // device memory goes to the host
	MovingBack             // it comes back
	Unlocking
)

// Mover moves the memory of one process.
type Mover struct {
	Driver   Driver
	Patience time.Duration   // the time that the work on the GPUs may take to end
	Tell     func(Step)      // is called as a step begins
	Regret   <-chan struct{} // closed: undo, or end the steps that would leave the process waiting
}

// Outcome is the result.
type Outcome struct {
	Before, After CUDAState
	Known         bool // After is: the driver could be asked
	Undone        bool // it was moved out and back again, or less, because of [Mover.Regret]
}

// StateError is the error for a process in a state in which it cannot be moved.
type StateError struct{ State CUDAState }

// Error names the state.
func (e *StateError) Error() string { return "the driver says " + e.State.String() }

var (
	// ErrGone is the error for a process that has ended.
	ErrGone = errors.New("the process has ended")
	// ErrGained is the error for a process that has more rights than the user for whom it would be moved. It has
	// executed a set-user-ID program or a program with capabilities, or has become another user.
	ErrGained = errors.New("the process has more rights than the user who may move it")
	// ErrNoAnswer is the error when the driver has not answered for so long that the mover stops to wait.
	ErrNoAnswer = errors.New("the driver does not answer")
	// ErrLeft is the error when the mover stops to wait at the caller's request.
	ErrLeft = errors.New("not waited for")
)

// Out moves the device memory of a process to the host. It does nothing if the memory is there already. After an error,
// or if the user changes their mind, the process runs again unless the outcome shows another state.
func (m *Mover) Out() (out Outcome, err error) {
	if out.Before, err = m.Driver.State(); err != nil {
		return out, err
	}
	out.After, out.Known = out.Before, true
	switch out.Before {
	case CUDACheckpointed:
		return out, nil
	case CUDARunning:
	default:
		return out, &StateError{out.Before}
	}
	if m.regretted() {
		out.Undone = true
		return out, nil
	}
	m.tell(Locking)
	if err := m.Driver.Lock(m.Patience); err != nil {
		var failed *CUDAError
		if errors.As(err, &failed) && failed.Code == CUDAIllegalState { // another program has locked it meanwhile
			return m.end(out, err)
		}
		return m.undo(out, err)
	}
	if m.regretted() {
		out.Undone = true
		return m.undo(out, nil)
	}
	m.tell(MovingOut)
	if err := m.Driver.Checkpoint(); err != nil {
		return m.undo(out, err)
	}
	if m.regretted() {
		out.Undone = true
		return m.undo(out, nil)
	}
	return m.end(out, nil)
}

// Back brings the device memory of a process back and lets it go on, from whatever state it was left in. It does
// nothing to a process that runs. Once begun, it is not interrupted: half way the process would wait.
func (m *Mover) Back() (out Outcome, err error) {
	if out.Before, err = m.Driver.State(); err != nil {
		return out, err
	}
	out.After, out.Known = out.Before, true
	switch out.Before {
	case CUDARunning:
		return out, nil
	case CUDALocked, CUDACheckpointed:
		return m.end(out, m.release(out.Before))
	}
	return out, &StateError{out.Before}
}

// undo makes a process run again, for an error or for none.
func (m *Mover) undo(out Outcome, because error) (Outcome, error) {
	if abandoned(because) {
		out.Known = false
		return out, because
	}
	state, err := m.Driver.State()
	if err == nil && (state == CUDALocked || state == CUDACheckpointed) {
		err = m.release(state)
	}
	if because != nil && err != nil {
		err = fmt.Errorf("%w; and undoing it: %w", because, err)
	} else if because != nil {
		err = because
	}
	return m.end(out, err)
}

// release brings back the memory on the host, and unlocks.
func (m *Mover) release(from CUDAState) error {
	if from == CUDACheckpointed {
		m.tell(MovingBack)
		if err := m.Driver.Restore(); err != nil {
			if abandoned(err) {
				return err
			}
			if state, asked := m.Driver.State(); asked == nil && state == CUDALocked {
				return errors.Join(err, m.unlock())
			}
			return err
		}
	}
	return m.unlock()
}

func (m *Mover) unlock() error {
	m.tell(Unlocking)
	return m.Driver.Unlock()
}

// end finds out the last state of the process.
func (m *Mover) end(out Outcome, err error) (Outcome, error) {
	out.Known = false
	if abandoned(err) {
		return out, err
	}
	state, asked := m.Driver.State()
	if asked == nil {
		out.After, out.Known = state, true
	} else if err == nil {
		err = asked
	}
	return out, err
}

// abandoned reports whether the driver cannot be asked any more. A call may still be under way, or the process is gone
// or must not be touched.
func abandoned(err error) bool {
	return errors.Is(err, ErrNoAnswer) || errors.Is(err, ErrLeft) || errors.Is(err, ErrGone) ||
		errors.Is(err, ErrGained)
}

func (m *Mover) tell(s Step) {
	if m.Tell != nil {
		m.Tell(s)
	}
}

func (m *Mover) regretted() bool {
	select {
	case <-m.Regret:
		return true
	default:
		return false
	}
}
