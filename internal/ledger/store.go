package ledger

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Records of boundaries come through the ring or, where it had no room, from the store. They are handed on in the order
// of their tickets.
//
// A CPU draws a ticket before it writes its record. Another CPU that draws the next ticket may finish earlier: its
// record is in the ring, and the earlier record is nowhere yet. The reader waits for the earlier record. A program that
// draws boundaries cannot be interrupted, so the wait takes microseconds, or as long as a hypervisor keeps the CPU from
// running.

// overtaken counts the records that later records overtook.
type overtaken struct {
	waited    uint64        // number of records for which the reader waited
	abandoned atomic.Uint64 // number of records that did not come
	meanwhile func()        // for tests: the work of another CPU during the wait
}

// patience is the longest wait for a record that is being written. After that the record is lost, and counted.
const patience = 2 * time.Second

// recover hands on the records before ticket that are in the store. If due is set, the record with ticket is to be
// handed on next, so recover waits for an earlier record that is still being written. Otherwise it leaves such a
// record, and those after it, to the ring or to the next call.
func (s *Stream) recover(ticket uint64, due bool, sink Sink) error {
	var waiting wait
	for s.expected < ticket {
		var b kernelBoundary
		place := uint32(s.expected & (maxStored - 1))
		if err := s.objects.Store.Lookup(place, &b); err != nil {
			return fmt.Errorf("read the boundary store: %w", err)
		}
		switch {
		case b.Ticket == s.expected:
			s.recovered++
			if err := s.accept(&b, sink); err != nil {
				return err
			}
			waiting = wait{} // the next record has a wait of its own
		case !due:
			return nil
		case b.Ticket > s.expected || waiting.isOver():
			s.overtaken.abandoned.Add(1)
			s.expected++
		default:
			if waiting.begins() {
				s.overtaken.waited++
			}
			s.overtaken.pause(&waiting)
		}
	}
	s.order.release(s.expected, sink)
	return nil
}

// bytesInRings returns the number of bytes in the rings, including those of records that are being written.
func (s *Stream) bytesInRings() int {
	return s.boundaries.AvailableBytes() + s.changes.AvailableBytes()
}

// maxReleases is the largest number of waits, at the end, for boundaries that wait for others. Each wait hands on at
// least one boundary.
const maxReleases = 64

// Drain hands on every record that has been drawn so far, including those that other CPUs are still writing. It ends a
// session; in [Stream.Poll] such records come with the next call.
func (s *Stream) Drain(sink Sink) error {
	if err := s.Poll(time.Unix(1, 0), sink); err != nil {
		return err
	}
	var next uint64
	if err := s.objects.NextTicket.Get(&next); err != nil {
		return fmt.Errorf("read the next ticket: %w", err)
	}
	// A record that a CPU is still writing into a ring keeps the reader from later records. Processes that still run
	// write more records, so the rings need not become empty.
	var waiting wait
	for before := s.Received(); before == s.Received() && !waiting.isOver() && s.bytesInRings() > 0; {
		s.overtaken.pause(&waiting)
		if err := s.readBoundaries(sink); err != nil {
			return err
		}
	}
	if err := s.recover(next, true, sink); err != nil {
		return err
	}
	for i := 0; i < maxReleases && len(s.order.early) > 0; i++ { // for boundaries that wait for others
		if err := s.recover(s.order.early[0].until, true, sink); err != nil {
			return err
		}
	}
	return nil
}

// wait is a wait for another CPU, with a bound. The zero value has not begun.
type wait struct {
	since time.Time
	turns int
}

// begins reports whether the wait is about to begin.
func (w *wait) begins() bool { return w.since.IsZero() }

func (w *wait) isOver() bool { return !w.since.IsZero() && time.Since(w.since) > patience }

// pause lets other threads run: briefly at first, then longer.
func (o *overtaken) pause(w *wait) {
	if o.meanwhile != nil {
		o.meanwhile()
	}
	if w.since.IsZero() {
		w.since = time.Now()
	}
	if w.turns++; w.turns < 100 {
		time.Sleep(time.Microsecond)
		return
	}
	time.Sleep(time.Millisecond)
}
