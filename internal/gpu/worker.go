package gpu

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"ipytracer/internal/host/process"
)

// Worker is a process that makes the driver's calls. The calls cannot be interrupted, and the process that is moved
// must not stay locked when the tracer is interrupted. So the worker runs in a session of its own, which no terminal's
// signals reach. When its pipe is closed, because the tracer has gone for any reason, it completes its call, and
// unlocks the process if that would stay locked by mistake. Worker is a [Driver].
type Worker struct {
	cmd     *exec.Cmd
	to      io.WriteCloser
	out     *json.Encoder
	answers chan answer
	left    <-chan struct{}
	limits  Limits
}

// Limits are the longest waits for a call.
type Limits struct {
	Ask  time.Duration // for quick calls: asking for the state, unlocking, and a lock beyond its own patience
	Move time.Duration // for calls that take as long as the memory takes to be copied
}

// request is one line to the worker.
type request struct {
	Do       string
	Patience time.Duration `json:",omitempty"`
}

// The requests.
const (
	doState      = "state"
	doLock       = "lock"
	doCheckpoint = "checkpoint"
	doRestore    = "restore"
	doUnlock     = "unlock"
)

// answer is the worker's answer to a request. The worker sends a first answer without a request, when it is ready.
type answer struct {
	State  CUDAState           `json:",omitempty"`
	CUDA   *CUDAError          `json:",omitempty"`
	None   *NoCheckpointsError `json:",omitempty"`
	Gone   bool                `json:",omitempty"`
	Gained bool                `json:",omitempty"`
	Text   string              `json:",omitempty"`
}

func (a answer) err() error {
	switch {
	case a.CUDA != nil:
		return a.CUDA
	case a.None != nil:
		return a.None
	case a.Gone:
		return ErrGone
	case a.Gained:
		return ErrGained
	case a.Text != "":
		return errors.New(a.Text)
	}
	return nil
}

// StartWorker starts a worker for a process. The worker does nothing to the process if that has more rights than an
// ordinary process of user uid. StartWorker fails with a [*NoCheckpointsError] if the driver cannot move memory. Once
// left is closed, no call is waited for: it fails with [ErrLeft].
func StartWorker(id process.Identity, uid uint32, aim Aim, left <-chan struct{}, limits Limits) (*Worker, error) {
	w := &Worker{left: left, limits: limits, answers: make(chan answer)}
	cmd, release, err := Command(nil, Task{ID: id, Aim: aim, UID: uid}.arguments()...)
	if err != nil {
		return nil, fmt.Errorf("start what calls the driver: %w", err)
	}
	defer release()
	w.cmd = cmd
	// A worker that sees no device could bring nothing back.
	w.cmd.Env = slices.DeleteFunc(os.Environ(),
		func(v string) bool { return strings.HasPrefix(v, "CUDA_VISIBLE_DEVICES=") })
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	to, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start what calls the driver: %w", err)
	}
	from, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start what calls the driver: %w", err)
	}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start what calls the driver: %w", err)
	}
	w.to, w.out = to, json.NewEncoder(to)
	// one for each worker, of which a command starts one for each process it is asked to move
	go w.read(json.NewDecoder(from))
	if _, err := w.await(limits.Ask); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *Worker) read(in *json.Decoder) {
	defer close(w.answers)
	for {
		var a answer
		if in.Decode(&a) != nil {
			return
		}
		w.answers <- a
	}
}

// State returns the state of the process.
func (w *Worker) State() (CUDAState, error) {
	a, err := w.ask(request{Do: doState}, w.limits.Ask)
	return a.State, err
}

// Lock locks the process, as [Checkpoints.Lock] does.
func (w *Worker) Lock(patience time.Duration) error {
	_, err := w.ask(request{Do: doLock, Patience: patience}, patience+w.limits.Ask)
	return err
}

// Checkpoint moves the device memory of the process to the host.
func (w *Worker) Checkpoint() error {
	_, err := w.ask(request{Do: doCheckpoint}, w.limits.Move)
	return err
}

// Restore moves the memory back to the device.
func (w *Worker) Restore() error {
	_, err := w.ask(request{Do: doRestore}, w.limits.Move)
	return err
}

// Unlock lets the process go on.
func (w *Worker) Unlock() error {
	_, err := w.ask(request{Do: doUnlock}, w.limits.Ask)
	return err
}

func (w *Worker) ask(r request, limit time.Duration) (answer, error) {
	if err := w.out.Encode(r); err != nil {
		return answer{}, errWorkerGone
	}
	return w.await(limit)
}

var errWorkerGone = errors.New("what calls the driver has ended, as if it were killed")

func (w *Worker) await(limit time.Duration) (answer, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case a, ok := <-w.answers:
		if !ok {
			return answer{}, errWorkerGone
		}
		return a, a.err()
	case <-w.left:
		return answer{}, ErrLeft
	case <-timer.C:
		return answer{}, ErrNoAnswer
	}
}

// Close tells the worker that no further requests come. It does not wait for the worker, whose present call may take
// long.
func (w *Worker) Close() {
	_ = w.to.Close()
	go func() { // one for each worker; it ends with the worker's process
		for range w.answers { // else an unread answer could keep w.read, and so the worker, from ending
		}
		_ = w.cmd.Wait()
	}()
}
