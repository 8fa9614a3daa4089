package session

import (
	"errors"
	"fmt"
	"io"
	"os"

	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/internal/host/invoker"
)

// readySign is the ready file of a session, or a pipe in its place.
type readySign struct {
	io.Writer
	file *invoker.File // nil for a pipe
}

// newReadySign prepares the file, which does not appear before it is given. A pipe is one that the program was started
// with, such as /dev/fd/4.
func newReadySign(rights *invoker.Rights, path string) (*readySign, error) {
	if f := output.Descriptor(path); f != nil {
		return &readySign{Writer: f}, nil
	}
	f, err := rights.Create(path, false)
	if err != nil {
		return nil, fmt.Errorf("write the ready file: %w", err)
	}
	return &readySign{f, f}, nil
}

// give makes the file appear, with this process's ID in it.
func (r *readySign) give() error {
	_, err := fmt.Fprintln(r, os.Getpid())
	if r.file != nil {
		err = errors.Join(err, r.file.Commit(), r.file.Close())
	}
	if err != nil {
		return fmt.Errorf("write the ready file: %w", err)
	}
	return nil
}

// Discard gives up a file that has not appeared.
func (r *readySign) Discard() {
	if r.file != nil {
		r.file.Discard()
	}
}
