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

// moveServer is the worker's own side.
type moveServer struct {
	calls  calls
	pid    int
	look   func() error // fails with [ErrGone] once the very process has ended, and with [ErrGained]
	settle bool         // a process that is found locked at the end is to be unlocked
}

// calls are [Checkpoints].
type calls interface {
	State(pid int) (CUDAState, error)
	Lock(pid int, patience time.Duration) error
	Checkpoint(pid int) error
	Restore(pid int) error
	Unlock(pid int) error
}

// Serve is the worker: it does the tracer's requests on in until that is closed, and then acts by the aim. It does
// nothing to a process that has more rights than the user's.
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
		return answers.Encode(said(err))
	}
	s := &moveServer{calls: driver, pid: t.ID.PID, settle: t.Aim == AimBack,
		look: looker(handle, process.RightsOf(t.UID))}
	return s.serve(json.NewDecoder(in), answers)
}

// looker returns a function that looks, right before each call, whether a pid still means the process, and whether that
// may still be moved: the driver takes a pid and is root's. A process that changes between the look and the call has
// executed another program, and so has no memory of CUDA's left.
func looker(handle *process.Handle, rights process.Rights) func() error {
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
		return said(err)
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
			return said(changed)
		}
	}
	a := said(err)
	a.State = state
	return a
}

// said is an answer of an error, nil for none.
func said(err error) (a answer) {
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
