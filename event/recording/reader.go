package recording

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ipytracer/event"
)

// Reader reads a recording. It is an [event.Source] and not safe for concurrent use.
type Reader struct {
	messages      messageReader
	schema        schema
	batch         batch
	row           int
	lullDelivered bool      // the lull in front of the row was delivered
	devices       []*device // GPU rows, which belong to the next row of another kind
	done          error     // what Next returns from now on; nil while there are events

	events   uint64
	changes  uint64
	first    event.Nanoseconds
	last     event.Nanoseconds
	streams  map[uint32]uint64 // the highest Stream of each root
	finished bool
	extent   Extent // once done is set
}

var _ event.Source = (*Reader)(nil)

// Open reads the beginning of a recording. It fails with [ErrNotRecording] if r is no recording, and with [ErrVersion]
// if a newer tracer wrote it. [Reader.Next] reports any later error. The reader does not close r.
func Open(r io.Reader) (*Reader, error) { return open(r, false) }

func open(r io.Reader, ignoreChecksums bool) (*Reader, error) {
	in := &Reader{streams: make(map[uint32]uint64)}
	in.messages = messageReader{r: bufio.NewReaderSize(r, 64<<10), ignoreCRC: ignoreChecksums}
	msg, err := in.messages.next()
	if err == nil {
		in.schema, err = readSchema(msg)
	}
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: the file is empty", ErrNotRecording)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: the file ends within its header", ErrNotRecording)
	case errors.Is(err, errDamaged), errors.Is(err, errEnd):
		return nil, fmt.Errorf("%w: the header is not one of ours", ErrNotRecording)
	default:
		return nil, fmt.Errorf("recording: %w", err)
	}
	if in.batch.zstd, err = newDecoder(); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	return in, nil
}

// Next returns the recording's events in the order in which they were written, and then io.EOF. If a recording is
// damaged, or ends before its [event.Finish], Next returns all events up to there, and then a Finish of its own. This
// Finish has the Reason [ReasonCut], the recording's [Extent] among its Problems, and Made and Delivered as far as the
// file shows them. Next fails only with ctx's error and with that of the underlying reader.
func (r *Reader) Next(ctx context.Context) (event.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for {
		if r.done != nil {
			return nil, r.done
		}
		err := r.fetch()
		if err == nil {
			if !r.lullDelivered && r.batch.lull(r.row) {
				r.lullDelivered = true
				return &event.Lull{}, nil
			}
			e, eventErr := r.batch.event(r.row)
			if eventErr == nil {
				r.row++
				r.lullDelivered = false
				if !r.addDevices(e) {
					continue
				}
				if eventErr = r.checkOrder(e); eventErr == nil {
					r.note(e)
					return e, nil
				}
			}
			err = eventErr
		}
		if finish := r.end(err); finish != nil {
			return finish, nil
		}
	}
}

// addDevices adds the values of the GPU rows in front of an event to the event. It returns false if e is such a row.
func (r *Reader) addDevices(e event.Event) bool {
	switch e := e.(type) {
	case *device:
		if len(r.devices) < event.MaxDevices {
			r.devices = append(r.devices, e)
		}
		return false
	case *event.Boundary:
		copyDeviceValues(r.devices, &e.Value, &e.High, &e.Tree, &e.TreeHigh)
	case *event.Reading:
		copyDeviceValues(r.devices, &e.Value, &e.High)
	}
	r.devices = r.devices[:0]
	return true
}

// checkOrder refuses a Start behind other events, and any event behind the end. A recording has such events if somebody
// has swapped or doubled its batches.
func (r *Reader) checkOrder(e event.Event) error {
	if r.finished {
		r.finished = false
		return fmt.Errorf("%w: events behind the end", errDamaged)
	}
	if _, begins := e.(*event.Start); begins && r.events > 0 {
		return fmt.Errorf("%w: a beginning behind other events", errDamaged)
	}
	return nil
}

// fetch reads messages until there is a row to read.
func (r *Reader) fetch() error {
	for r.row >= r.batch.rows {
		msg, err := r.messages.next()
		if err != nil {
			return err
		}
		r.row, r.batch.rows = 0, 0
		if err := r.batch.load(&r.schema, msg); err != nil {
			r.batch.rows = 0
			return err
		}
	}
	return nil
}

// note records the facts that the Finish of a cut recording needs.
func (r *Reader) note(e event.Event) {
	r.events++
	at := r.last
	switch e := e.(type) {
	case *event.Start:
		at = e.Host.MonoNow
	case *event.Settled:
		at = e.Finish.Time
	case *event.Finish:
		r.finished = true
		at = e.Time
	case *event.Boundary:
		at = e.Time
		r.noteNumber(e.Root, e.Stream)
	case *event.Holders:
		at = e.Time
	case *event.Variables:
		at = e.Time
	case *event.Residence:
		at = e.Time
	case *event.Limits:
		at = e.Time
	case *event.Ending:
		at = e.Time
	case *event.Change:
		at = e.Time
		r.noteChange(e.Root, e.Stream)
	case *event.Foreign:
		at = e.Time
		r.noteChange(e.Root, e.Stream)
	case *event.Refusal:
		at = e.Time
		r.noteChange(e.Root, e.Stream)
	}
	if r.events == 1 {
		r.first, r.last = at, at
	}
	r.last = max(r.last, at)
}

// noteChange counts an event of the change stream.
func (r *Reader) noteChange(root uint32, number uint64) {
	r.changes++
	r.noteNumber(root, number)
}

// noteNumber records the highest number of a root's changes, for at most maxRoots roots.
func (r *Reader) noteNumber(root uint32, number uint64) {
	if _, known := r.streams[root]; known || len(r.streams) < maxRoots {
		r.streams[root] = max(r.streams[root], number)
	}
}

// end sets what Next returns from now on. If the recording lacks its Finish, end returns one that says why.
func (r *Reader) end(cause error) *event.Finish {
	cut := errors.Is(cause, io.EOF) || errors.Is(cause, io.ErrUnexpectedEOF)
	if !cut && !errors.Is(cause, errEnd) && !errors.Is(cause, errDamaged) {
		r.done = fmt.Errorf("recording: %w", cause)
		return nil
	}
	r.done = io.EOF
	r.batch.zstd.Close()
	r.extent = Extent{Version: r.schema.version, Events: r.events, Lasts: time.Duration(r.last - r.first), Last: r.last}
	if r.finished {
		return nil
	}
	switch {
	case cut:
		r.extent.State = Cut
	case errors.Is(cause, errEnd):
		r.extent.State = Unfinished
	default:
		r.extent.State, r.extent.DamagedAt = Damaged, r.messages.offset
		r.extent.Why = fmt.Sprintf("%.300s", cause.Error())
	}
	finish := &event.Finish{Time: r.last, Reason: ReasonCut, Delivered: r.changes,
		Problems: []string{r.extent.String()}}
	for _, n := range r.streams {
		finish.Made += n
	}
	return finish
}

// Extent returns the extent of the recording after Next or Each has reached its end. Before that it is the zero value.
func (r *Reader) Extent() Extent { return r.extent }
