package gpu

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"time"

	"ipytracer/internal/host/process"
)

// moveServer carries out requests in the worker's process.
type moveServer struct {
	calls  calls
	pid    int
	look   func() error // fails with [ErrGone] or [ErrGained] if the process must not be touched
	settle bool         // at the end a locked process is unlocked
}

// calls are [Checkpoints].
type calls interface {
	State(pid int) (CUDAState, error)
	Lock(pid int, patience time.Duration) error
	Checkpoint(pid int) error
	Restore(pid int) error
	Unlock(pid int) error
}

// Serve runs the worker: it carries out the tracer's requests from in until in is closed, and then acts by the aim. It
// does nothing to a process that has more rights than an ordinary process of the user.
func (t Task) Serve(in io.Reader, out io.Writer) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	answers := json.NewEncoder(out)
	handle, err := (process.FS{}).OpenIdentity(t.ID)
	if err != nil {
		return answers.Encode(answer{Gone: true})
	}
	defer handle.Close()
	driver, err := OpenCheckpoints()
	if err != nil {
		return answers.Encode(newAnswer(err))
	}
	s := &moveServer{calls: driver, pid: t.ID.PID, settle: t.Aim == AimBack,
		look: newLook(handle, process.RightsOf(t.UID))}
	return s.serve(json.NewDecoder(in), answers)
}

// newLook returns the function look, which is called right before each call of the driver. It checks that the pid still
// means the process, and that the process may be moved: the driver takes a pid, and acts as root. A process that
// changes between the check and the call has executed another program, and so has no memory of CUDA any more.
func newLook(handle *process.Handle, rights process.Rights) func() error {
	return func() error {
		if ended, err := handle.Exited(); ended || err != nil {
			return ErrGone
		}
		switch err := handle.CoveredBy(rights); {
		case errors.Is(err, process.ErrNotPermitted):
			return ErrGained
		case errors.Is(err, process.ErrNoProcess), errors.Is(err, process.ErrZombie):
			return ErrGone
		default:
			return err
		}
	}
}

func (s *moveServer) serve(requests *json.Decoder, answers *json.Encoder) error {
	if err := answers.Encode(answer{}); err != nil {
		return err
	}
	for {
		var r request
		if requests.Decode(&r) != nil {
			break
		}
		// The tracer may be gone and read no answer; the rest is done all the same.
		_ = answers.Encode(s.do(r))
	}
	if state := s.do(request{Do: doState}); s.settle && state.err() == nil && state.State == CUDALocked {
		return s.do(request{Do: doUnlock}).err()
	}
	return nil
}

func (s *moveServer) do(r request) answer {
	if err := s.look(); err != nil {
		return newAnswer(err)
	}
	var state CUDAState
	var err error
	switch r.Do {
	case doState:
		state, err = s.calls.State(s.pid)
	case doLock:
		if err = s.calls.Lock(s.pid, r.Patience); err == nil {
			s.settle = true
		}
	case doCheckpoint:
		err = s.calls.Checkpoint(s.pid)
	case doRestore:
		err = s.calls.Restore(s.pid)
	case doUnlock:
		err = s.calls.Unlock(s.pid)
	default:
		err = fmt.Errorf("asked to %q", r.Do)
	}
	if err != nil {
		if changed := s.look(); changed != nil {
			return newAnswer(changed)
		}
	}
	a := newAnswer(err)
	a.State = state
	return a
}

// newAnswer returns the answer for an error; an empty answer for nil.
func newAnswer(err error) (a answer) {
	switch {
	case err == nil, errors.As(err, &a.CUDA), errors.As(err, &a.None):
	case errors.Is(err, ErrGone):
		a.Gone = true
	case errors.Is(err, ErrGained):
		a.Gained = true
	default:
		a.Text = err.Error()
	}
	return a
}
