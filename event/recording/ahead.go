package recording

import (
	"context"
	"errors"
	"io"

	"ipytracer/event"
)

// Each passes all events to take, in the order in which [Reader.Next] returns them, and meanwhile reads further events
// on another processor. A boundary and a change belong to take until it returns: then their memory is used again. If
// Next fails, Each passes the events before the failure to take, and then fails, too. When ctx is over, Each fails
// soon.
func (r *Reader) Each(ctx context.Context, take func(event.Event)) error {
	within, stop := context.WithCancel(ctx)
	free, full := make(chan *run, runs), make(chan *run, runs) // each has room for all
	for range runs {
		free <- newRun()
	}
	go func() {
		defer close(full)
		for one := range free {
			one.fill(within, r)
			full <- one
			if one.end != nil {
				return
			}
		}
	}()
	defer func() {
		stop()
		close(free)
		for range full { // until the other side stops
		}
		r.batch.room = nil
	}()
	for one := range full {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, e := range one.events {
			take(e)
		}
		if errors.Is(one.end, io.EOF) {
			return nil
		}
		if one.end != nil {
			return one.end
		}
		free <- one
	}
	return nil
}

// fill reads events until there is no room for one more, or their texts are long.
func (n *run) fill(ctx context.Context, r *Reader) {
	n.events, n.changes, n.boundaries = n.events[:0], n.changes[:0], n.boundaries[:0]
	r.batch.room = n
	most := r.batch.taken + maxPending
	for n.end == nil && r.batch.taken < most && len(n.events) < cap(n.events) && len(n.changes) < cap(n.changes) &&
		len(n.boundaries) < cap(n.boundaries) {
		var e event.Event
		if e, n.end = r.Next(ctx); n.end == nil {
			n.events = append(n.events, e)
		}
	}
}
