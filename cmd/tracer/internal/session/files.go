package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/event"
	"ipytracer/internal/host/invoker"
	"ipytracer/report"
)

// recordFile is the file that gets a session's events. The zero value is no recording.
type recordFile struct {
	console  console.Console
	noSource bool
	file     *invoker.Recording // nil without one, and once it is closed
	failure  error              // tracing goes on after it
}

// write writes one event. It reports a failure once: the report is not lost.
func (r *recordFile) write(e event.Event) {
	if r.file == nil || r.failure != nil {
		return
	}
	if r.noSource {
		e = withoutSource(e)
	}
	r.note(r.file.Write(e))
}

func (r *recordFile) flush() {
	if r.file != nil && r.failure == nil {
		r.note(r.file.Flush())
	}
}

// note reports the first failure.
func (r *recordFile) note(err error) {
	if err == nil || r.failure != nil {
		return
	}
	r.failure = err
	_, message := status.Explain(err)
	r.console.Say("the recording stops here: %s; tracing goes on", message)
}

func (r *recordFile) close() {
	if r.file != nil {
		r.note(r.file.Close())
		r.file = nil
	}
}

// withoutSource returns an event without the notebook's source.
func withoutSource(e event.Event) event.Event {
	switch e := e.(type) {
	case *event.CellSource:
		return &event.CellSource{Cell: e.Cell, PID: e.PID}
	case *event.Holders:
		bare := *e
		bare.Holders = slices.Clone(e.Holders)
		for i := range bare.Holders {
			bare.Holders[i].Path = report.WithoutKeys(bare.Holders[i].Path)
		}
		return &bare
	}
	return e
}

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
