package recording

import (
	"fmt"
	"io"

	"ipytracer/event"
)

// Writer writes events as a recording. It holds at most 4096 rows and about 1 MiB of text, or one longer text, and
// takes less than 8 MB of memory. It is not safe for concurrent use.
type Writer struct {
	w     io.Writer
	enc   *encoder
	table table
	time  event.Nanoseconds // of the latest event that has a time
	lull  bool              // a Lull came since the last row
	err   error
}

// NewWriter begins a recording on w; version is the tracer's. It writes the recording's header at once, so that it
// fails before anything is traced if w cannot be written.
func NewWriter(w io.Writer, version string) (*Writer, error) {
	enc, err := newTableEncoder()
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	if _, err := w.Write(enc.schema(version)); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	return &Writer{w: w, enc: enc}, nil
}

// Write adds one event. It fails with [ErrEvent] for an event that a recording cannot hold, and then adds nothing. Any
// other failure is the underlying writer's. It ends the recording: this call and all later ones return it.
func (w *Writer) Write(e event.Event) error {
	if w.err != nil {
		return w.err
	}
	if err := w.addRow(e); err != nil {
		return err
	}
	if w.table.rows > maxRows-maxEventRows || w.table.pending >= maxPending {
		return w.Flush()
	}
	return nil
}

// Flush writes all rows so far to the underlying writer, as one complete batch. A batch costs about 5 KB in addition to
// its rows, so callers should flush at boundaries and on a timer, not at every event.
func (w *Writer) Flush() error {
	if w.err != nil || w.table.rows == 0 {
		return w.err
	}
	head, body := w.enc.batch(&w.table)
	w.table.reset()
	if cap(body) > 4*maxPending { // keeping the memory of one unusual batch is not worth it
		w.enc.body = nil
	}
	w.put(head)
	w.put(body)
	return w.err
}

// Close flushes and ends the recording. It does not close the underlying writer. Later calls of Write fail.
func (w *Writer) Close() error {
	if err := w.Flush(); err != nil {
		return err
	}
	w.put(endMark[:])
	if w.err != nil {
		return w.err
	}
	w.err = fmt.Errorf("recording: %w", io.ErrClosedPipe)
	return nil
}

func (w *Writer) put(p []byte) {
	if w.err != nil {
		return
	}
	if _, err := w.w.Write(p); err != nil {
		w.err = fmt.Errorf("recording: %w", err)
	}
}
