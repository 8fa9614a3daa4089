package ledger

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf"

	"ipytracer/event"
)

// A CPU draws the ticket of a boundary before it cuts the tree. It may be held up in between: by an interrupt, by a
// hypervisor or, on Linux 7.x, by the scheduler. Then another CPU may draw the next ticket and cut first. Windows are
// runs of segments, so the boundaries of a tree are handed on in the order of their segments: each segment ends with
// one boundary.

// segmentOrder keeps boundaries that came early: a boundary of an earlier segment of the tree is still to come.
type segmentOrder struct {
	next  map[uint32]uint64 // the segment that is due next, by root; 1 if missing
	early []*earlyBoundary  // at most as many as the store has places
}

// earlyBoundary is a waiting boundary, with its readings.
type earlyBoundary struct {
	boundary event.Boundary
	extra    BoundaryExtra
	readings []*event.Reading
	until    uint64 // boundaries of earlier segments have tickets below this one
}

// due returns the segment of a tree that is due next.
func (o *segmentOrder) due(root uint32) uint64 { return max(1, o.next[root]) }

// isWaiting reports whether boundaries of a tree wait.
func (o *segmentOrder) isWaiting(root uint32) bool {
	return slices.ContainsFunc(o.early, func(e *earlyBoundary) bool { return e.boundary.Root == root })
}

// forget begins a tree anew: its next boundary is of the first segment.
func (o *segmentOrder) forget(root uint32) { delete(o.next, root) }

// handOn hands on a boundary whose turn it is.
func (o *segmentOrder) handOn(b *event.Boundary, extra BoundaryExtra, sink Sink) {
	if o.next == nil {
		o.next = map[uint32]uint64{}
	}
	o.next[b.Root] = max(o.due(b.Root), b.Segment+1)
	sink.Boundary(b, extra)
}

// keepReading adds a reading to the waiting boundary that it belongs to, and returns false if there is none.
func (o *segmentOrder) keepReading(r *event.Reading) bool {
	for _, e := range o.early {
		if e.boundary.Number == r.Number {
			e.readings = append(e.readings, r)
			return true
		}
	}
	return false
}

// release hands on the boundaries that need not wait any longer, now that every record before a ticket has come or was
// given up.
func (o *segmentOrder) release(ticket uint64, sink Sink) {
	for {
		i := o.ripe(ticket)
		if i < 0 {
			return
		}
		e := o.early[i]
		o.early = append(o.early[:i], o.early[i+1:]...)
		o.handOn(&e.boundary, e.extra, sink)
		for _, r := range e.readings {
			sink.Reading(r)
		}
	}
}

// ripe returns the index in early of a boundary that need not wait any longer: the first one of its tree; -1 for none.
func (o *segmentOrder) ripe(ticket uint64) int {
	for _, e := range o.early {
		if e.boundary.Segment > o.due(e.boundary.Root) && e.until > ticket {
			continue
		}
		first := -1
		for i, other := range o.early {
			if other.boundary.Root == e.boundary.Root &&
				(first < 0 || other.boundary.Segment < o.early[first].boundary.Segment) {
				first = i
			}
		}
		return first
	}
	return -1
}

// handOnOrKeep hands on a boundary, or keeps it until the boundaries of earlier segments have come. These have tickets
// below the present next ticket: each was drawn before its CPU cut the tree.
func (o *segmentOrder) handOnOrKeep(b *event.Boundary, extra BoundaryExtra, nextTicket *ebpf.Variable,
	sink Sink) error {
	if b.Segment <= o.due(b.Root) {
		o.handOn(b, extra, sink)
		return nil
	}
	e := &earlyBoundary{boundary: *b, extra: extra}
	if err := nextTicket.Get(&e.until); err != nil {
		return fmt.Errorf("read the next ticket: %w", err)
	}
	o.early = append(o.early, e)
	return nil
}
