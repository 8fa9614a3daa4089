package ledger

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf"

	"ipytracer/event"
)

// A CPU draws the ticket of a boundary before it cuts the tree. It may be held up in between: by an interrupt, by a
// hypervisor or, on Linux 7.x, by the scheduler. Another CPU that draws the next ticket then cuts first. Windows are
// runs of segments, so the boundaries of a tree are handed on in the order of their segments; each boundary has one
// segment, and each segment one boundary.

// segmentOrder keeps boundaries that came too early: a boundary of an earlier segment of the tree is still to come.
type segmentOrder struct {
	next  map[uint32]uint64 // by root: the segment of the boundary that is due next; none: 1
	early []*earlyBoundary  // at most as many as the store has places
}

// earlyBoundary is a waiting boundary, with its readings.
type earlyBoundary struct {
	boundary event.Boundary
	extra    BoundaryExtra
	readings []*event.Reading
	until    uint64 // every boundary of an earlier segment has a ticket before this one
}

// due returns the segment of a tree that is due next.
func (o *segmentOrder) due(root uint32) uint64 { return max(1, o.next[root]) }

// waits reports whether boundaries of a tree wait.
func (o *segmentOrder) waits(root uint32) bool {
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

// takes reports whether a reading belongs to a waiting boundary. If it does, it waits with that boundary.
func (o *segmentOrder) takes(r *event.Reading) bool {
	for _, e := range o.early {
		if e.boundary.Number == r.Number {
			e.readings = append(e.readings, r)
			return true
		}
	}
	return false
}

// release hands on the boundaries that need not wait any longer, now that every record before a ticket has come or will
// not come.
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

// ripe returns the place of a boundary that need not wait any longer: the first waiting one of its tree; -1 for none.
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

// accepts hands on a boundary, or keeps it until the boundaries of earlier segments have come. A CPU that cut the tree
// earlier had drawn its ticket by then.
func (o *segmentOrder) accepts(b *event.Boundary, extra BoundaryExtra, nextTicket *ebpf.Variable, sink Sink) error {
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
