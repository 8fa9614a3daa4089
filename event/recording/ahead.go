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

// run is a number of events in a row, with memory for the frequent kinds.
type run struct {
	events     []event.Event
	changes    []event.Change
	boundaries []event.Boundary
	end        error // the end behind the events, nil if more follow
}

const (
	runs          = 3 // one is filled, one taken in, one waits
	runEvents     = 512
	runBoundaries = 64 // of 2.5 KB each
)

func newRun() *run {
	return &run{
		events:     make([]event.Event, 0, runEvents),
		changes:    make([]event.Change, 0, runEvents),
		boundaries: make([]event.Boundary, 0, runBoundaries),
	}
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

// change returns memory for a Change. A run that is nil, or full of damaged ones, has none.
func (n *run) change() *event.Change {
	if n == nil || len(n.changes) == cap(n.changes) {
		return new(event.Change)
	}
	n.changes = append(n.changes, event.Change{})
	return &n.changes[len(n.changes)-1]
}

// boundary returns memory for a Boundary, as change does.
func (n *run) boundary() *event.Boundary {
	if n == nil || len(n.boundaries) == cap(n.boundaries) {
		return new(event.Boundary)
	}
	n.boundaries = append(n.boundaries, event.Boundary{})
	return &n.boundaries[len(n.boundaries)-1]
}
