package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/event"
	"ipytracer/internal/host/privileges"
	"ipytracer/report"
)

// recordFile is a session's recording. The zero value records nothing.
type recordFile struct {
	console  console.Console
	noSource bool
	file     *privileges.Recording // nil without a recording, and once it is closed
	failure  error                 // the first failure; nothing is written after it, and tracing goes on
}

// write writes one event, unless an earlier one failed.
func (r *recordFile) write(e event.Event) {
	if r.file == nil || r.failure != nil {
		return
	}
	if r.noSource {
		e = withoutSource(e)
	}
	r.noteFailure(r.file.Write(e))
}

func (r *recordFile) flush() {
	if r.file != nil && r.failure == nil {
		r.noteFailure(r.file.Flush())
	}
}

// noteFailure keeps and reports the first error.
func (r *recordFile) noteFailure(err error) {
	if err == nil || r.failure != nil {
		return
	}
	r.failure = err
	_, message := console.Explain(err)
	r.console.Say("the recording stops here: %s; tracing goes on", message)
}

func (r *recordFile) close() {
	if r.file != nil {
		r.noteFailure(r.file.Close())
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

// readySign is the ready file of a session, or the pipe that --ready-file names.
type readySign struct {
	io.Writer
	file *privileges.File // nil for a pipe
}

// newReadySign prepares the file, which appears when [readySign.appear] is called. path may also name a pipe that the
// program was started with, such as /dev/fd/4.
func newReadySign(rights *privileges.Rights, path string) (*readySign, error) {
	if f := console.Descriptor(path); f != nil {
		return &readySign{Writer: f}, nil
	}
	f, err := rights.Create(path, false)
	if err != nil {
		return nil, fmt.Errorf("write the ready file: %w", err)
	}
	return &readySign{f, f}, nil
}

// appear makes the file appear, with this process's ID in it.
func (r *readySign) appear() error {
	_, err := fmt.Fprintln(r, os.Getpid())
	if r.file != nil {
		err = errors.Join(err, r.file.Commit(), r.file.Close())
	}
	if err != nil {
		return fmt.Errorf("write the ready file: %w", err)
	}
	return nil
}

// Discard removes a file that has not appeared.
func (r *readySign) Discard() {
	if r.file != nil {
		r.file.Discard()
	}
}
