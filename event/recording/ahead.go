package recording

import (
	"context"
	"errors"
	"io"

	"ipytracer/event"
)

// Each calls visit with all events, in the order in which [Reader.Next] returns them. Meanwhile another goroutine reads
// further events. Once visit has returned, the memory of its boundary or change is used again. If Next fails, Each
// passes on the events before the failure, and then fails, too. Once ctx is cancelled, Each fails soon.
func (r *Reader) Each(ctx context.Context, visit func(event.Event)) error {
	reading, stop := context.WithCancel(ctx)
	free, full := make(chan *chunk, chunks), make(chan *chunk, chunks) // each channel has room for all chunks
	for range chunks {
		free <- newChunk()
	}
	go func() {
		defer close(full)
		for c := range free {
			c.fill(reading, r)
			full <- c
			if c.end != nil {
				return
			}
		}
	}()
	defer func() {
		stop()
		close(free)
		for range full { // wait for the goroutine to end
		}
		r.batch.chunk = nil
	}()
	for c := range full {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, e := range c.events {
			visit(e)
		}
		if errors.Is(c.end, io.EOF) {
			return nil
		}
		if c.end != nil {
			return c.end
		}
		free <- c
	}
	return nil
}

// fill reads events until the chunk has no room for one more, or its events have maxPending bytes of text.
func (n *chunk) fill(ctx context.Context, r *Reader) {
	n.events, n.changes, n.boundaries = n.events[:0], n.changes[:0], n.boundaries[:0]
	r.batch.chunk = n
	maxTaken := r.batch.taken + maxPending
	for n.end == nil && r.batch.taken < maxTaken && len(n.events) < cap(n.events) &&
		len(n.changes) < cap(n.changes) && len(n.boundaries) < cap(n.boundaries) {
		var e event.Event
		if e, n.end = r.Next(ctx); n.end == nil {
			n.events = append(n.events, e)
		}
	}
}
