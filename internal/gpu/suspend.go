package gpu

// A [Mover] moves the device memory of a process that uses CUDA to the host, and back. It makes the driver's calls in
// their order. If a call fails, or if the user wants to undo the move, it reverses the calls so far, so that no process
// stays locked by mistake. The messages for people are in cmd/tracer.

import (
	"errors"
	"fmt"
	"time"
)

// Driver makes the CUDA driver's calls on one other process, as a [Worker] does.
type Driver interface {
	State() (CUDAState, error)
	Lock(patience time.Duration) error
	Checkpoint() error
	Restore() error
	Unlock() error
}

// Step is a step of a move.
type Step int

// The steps.
const (
	Locking    Step = iota // wait until the work on the GPUs is over
	MovingOut              // move the device memory to the host
	MovingBack             // move it back
	Unlocking              // let the process go on
)

// Mover moves the memory of one process.
type Mover struct {
	Driver   Driver
	Patience time.Duration   // the time that the work on the GPUs may take to end
	Tell     func(Step)      // is called when a step begins; may be nil
	Regret   <-chan struct{} // is closed when the user wants to undo the move
}

// Outcome is the result of a move.
type Outcome struct {
	Before, After CUDAState
	Known         bool // After is known: the driver could be asked
	Undone        bool // the move was undone, or not begun, because of [Mover.Regret]
}

// StateError says that a process is in a state in which it cannot be moved.
type StateError struct{ State CUDAState }

// Error names the state.
func (e *StateError) Error() string { return "the driver says " + e.State.String() }

var (
	// ErrGone says that the process has ended.
	ErrGone = errors.New("the process has ended")
	// ErrGained says that the process has more rights than the user for whom it would be moved: it has executed a
	// set-user-ID program or a program with capabilities, or has become another user.
	ErrGained = errors.New("the process has more rights than the user who may move it")
	// ErrNoAnswer says that the driver has not answered for so long that the mover no longer waits.
	ErrNoAnswer = errors.New("the driver does not answer")
	// ErrLeft says that the mover no longer waits, at the caller's request.
	ErrLeft = errors.New("not waited for")
)

// Out moves the device memory of a process to the host. It does nothing if the memory is there already. After an error,
// or if the user wants to undo the move, the process runs again, unless the outcome shows another state.
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

// Back moves the device memory of a process back and lets the process go on, whatever state it was left in. It does
// nothing to a process that runs. Back is not interrupted: a process that is half way would be locked.
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

// undo makes a process run again, because of an error or at the user's request (because is nil).
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

// release moves the memory back, if it is on the host, and unlocks the process.
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

// end sets the state of the process after the move.
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

// abandoned reports whether the driver must not be called any more: a call may still be under way, or the process has
// ended or must not be touched.
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
