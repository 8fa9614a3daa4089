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

// overtaken counts records of the store that later records overtook.
type overtaken struct {
	waited    uint64        // records for which the reader waited
	abandoned atomic.Uint64 // records that did not come
	meanwhile func()        // for tests: the work of another CPU during the wait
}

// patience is the longest wait for a record that is being written. After that the record is lost, and counted.
const patience = 2 * time.Second

// recover hands on every record before ticket, from the store. If a record is due, recover waits for a record that is
// being written: later records must not be handed on before it. If none is due, the unwritten record is left to the
// ring, or to the next call.
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
			waiting = wait{} // the next record is another CPU's
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

// read returns the number of records that were read from both rings.
func (s *Stream) read() uint64 { return s.records + s.delivered }

// hold returns the number of bytes in the rings, including those of records that are being written.
func (s *Stream) hold() int { return s.boundaries.AvailableBytes() + s.changes.AvailableBytes() }

// releases is the largest number of waits, at the end, for boundaries that wait for others. Each wait hands on at least
// one boundary.
const releases = 64

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
	// A record that a CPU has begun to write into a ring blocks later records from being read. A process that still
	// runs writes more records, so this need not end.
	var waiting wait
	for before := s.read(); before == s.read() && !waiting.isOver() && s.hold() > 0; {
		s.overtaken.pause(&waiting)
		if err := s.readBoundaries(sink); err != nil {
			return err
		}
	}
	if err := s.recover(next, true, sink); err != nil {
		return err
	}
	for i := 0; i < releases && len(s.order.early) > 0; i++ { // for boundaries that wait for others
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

// begins reports whether the wait has not begun yet.
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
