package ledger

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf/ringbuf"

	"ipytracer/event"
)

// Stream reads the records of both rings in their order.
type Stream struct {
	objects     *kernelObjects
	tracepoints *Tracepoints // the source of their counts of misses
	copied      func() error // reports to the kernel that a copy of a stack has been read: copyRead

	opening     sync.Mutex // held while bell, boundaries and changes are replaced, and by Wake
	bell        *bell      // of the boundary ring
	boundaries  *ringbuf.Reader
	changes     *ringbuf.Reader
	resting     bool // the rings are unmapped: see Rest
	record      ringbuf.Record
	change      ringbuf.Record
	expected    uint64 // ticket of the next record
	delivered   uint64 // number of changes that were read
	records     uint64 // number of records read from the boundary ring
	recovered   uint64 // number of boundary records that came from the store
	copies      uint64 // number of copies of stacks that were read
	overtaken   overtaken
	readingWait time.Duration // longest wait of delivered boundaries for their readings
	incomplete  atomic.Uint64 // polls that may have handed on a boundary without the readings of other processes
	order       segmentOrder
	devices     deviceReadings
}

// Wake makes a waiting Poll return. It may be called from any goroutine.
func (s *Stream) Wake() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.bell == nil { // the rings are closed: nothing waits
		return nil
	}
	return s.bell.ring()
}

func (s *Stream) openRings() (err error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.bell, err = newBell(s.objects.Boundaries.FD()); err != nil {
		return err
	}
	if s.boundaries, err = ringbuf.NewReader(s.objects.Boundaries); err != nil {
		return fmt.Errorf("open the boundary ring: %w", err)
	}
	if s.changes, err = ringbuf.NewReader(s.objects.Changes); err != nil {
		return fmt.Errorf("open the change ring: %w", err)
	}
	s.resting = false
	return nil
}

// Rest unmaps the rings until the next Poll, so that they take no memory of this process, where each is mapped twice.
// Records that come meanwhile wait in the rings.
func (s *Stream) Rest() error {
	s.resting = true
	return s.closeRings()
}

func (s *Stream) closeRings() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	var errs []error
	if s.bell != nil {
		errs = append(errs, s.bell.close())
		s.bell = nil
	}
	for _, r := range []*ringbuf.Reader{s.boundaries, s.changes} {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	return errors.Join(errs...)
}

// Poll waits until something happens or the deadline passes, and then hands all available records to sink. A change
// that was made before a boundary is handed on before the boundary. Poll returns nil when the deadline has passed.
func (s *Stream) Poll(deadline time.Time, sink Sink) error {
	if s.resting {
		if err := s.openRings(); err != nil {
			return err
		}
	}
	if err := s.bell.wait(deadline); err != nil {
		return err
	}
	if err := s.readBoundaries(sink); err != nil {
		return err
	}
	s.tracepoints.countMissed(time.Now())
	complete, err := sharedCounts{s.objects.SharedBegun, s.objects.SharedTold}.finish(s.readingWait, func() error {
		var next uint64
		if err := s.objects.NextTicket.Get(&next); err != nil {
			return fmt.Errorf("read the next ticket: %w", err)
		}
		// Every record with a ticket below next is in the ring now, unless the ring was full. So the ring is read once
		// more before the store: otherwise boundaries would overtake the changes and the source in front of them.
		if err := s.readBoundaries(sink); err != nil {
			return err
		}
		return s.recover(next, false, sink)
	})
	if err == nil && !complete { // counts as refused readings: the next boundary reports them
		s.incomplete.Add(1)
	}
	return err
}

// readBoundaries reads the contents of the boundary ring.
func (s *Stream) readBoundaries(sink Sink) error {
	s.boundaries.SetDeadline(time.Unix(1, 0)) // long past: do not wait
	err := s.boundaries.ReadInto(&s.record)
	for err == nil {
		s.records++
		if err = s.drainChanges(sink); err != nil {
			break
		}
		if err = s.deliver(s.record.RawSample, sink); err != nil || s.record.Remaining == 0 {
			break
		}
		err = s.boundaries.ReadInto(&s.record)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = s.drainChanges(sink)
	}
	return err
}

// drainChanges reads the change ring until it is empty.
func (s *Stream) drainChanges(sink Sink) error {
	if s.changes.AvailableBytes() == 0 {
		return nil
	}
	s.changes.SetDeadline(time.Unix(1, 0)) // long past: do not wait
	for {
		err := s.changes.ReadInto(&s.change)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the change ring: %w", err)
		}
		c, ok := view[kernelChange](s.change.RawSample)
		if !ok {
			return fmt.Errorf("read the change ring: record of %d bytes", len(s.change.RawSample))
		}
		s.delivered++
		deliverChange(c, sink)
	}
}

// deliverChange hands on one record of the change ring.
func deliverChange(c *kernelChange, sink Sink) {
	switch {
	case c.Meter&uint32(kernelChangeFlagCHANGE_REFUSED) != 0:
		out := decodeRefusal(c)
		sink.Refusal(&out)
	case c.Meter&uint32(kernelChangeFlagCHANGE_FOREIGN) != 0:
		out := decodeForeign(c)
		sink.Foreign(&out)
	default:
		out := decodeChange(c)
		sink.Change(&out)
	}
}

// deliver hands on one record of the boundary ring. Before a boundary it hands on the earlier ones for which the ring
// had no room.
func (s *Stream) deliver(raw []byte, sink Sink) error {
	b, ok := view[kernelBoundary](raw)
	if !ok || b.Ticket == 0 {
		return s.deliverOther(raw, sink)
	}
	if b.Ticket < s.expected {
		return nil // it already came from the store, or was given up
	}
	if err := s.recover(b.Ticket, true, sink); err != nil {
		return err
	}
	return s.accept(b, sink)
}

// deliverOther hands on a record of the boundary ring without a ticket: code, a stack, source, or a changed library.
func (s *Stream) deliverOther(raw []byte, sink Sink) error {
	h, ok := viewPrefix[kernelHeader](raw)
	if !ok || h.Ticket != 0 {
		return fmt.Errorf("read the boundary ring: record of %d bytes", len(raw))
	}
	const head = int(unsafe.Offsetof(kernelSource{}.Text))
	switch kind := kernelBoundaryKind(h.Kind); {
	case kind == kernelBoundaryKindRECORD_LIBRARY:
		sink.LibrariesChanged(h.Pid)
	case kind == kernelBoundaryKindRECORD_CODE:
		if c, ok := view[kernelCode](raw); ok {
			out := decodeCode(c)
			sink.Code(&out)
		}
	case kind == kernelBoundaryKindRECORD_STACK:
		if out, ok := decodeStack(raw); ok {
			sink.Stack(&out)
		}
	case kind == kernelBoundaryKindRECORD_NATIVE:
		if out, ok := decodeNative(raw); ok {
			sink.NativeStack(&out)
		}
	case kind == kernelBoundaryKindRECORD_COPY:
		if c, ok := view[kernelCopy](raw); ok {
			out := decodeCopy(c)
			sink.StackCopy(&out)
		}
		return s.copied()
	case kind == kernelBoundaryKindRECORD_SOURCE && len(raw) > head:
		out := decodeSource(h, raw, head)
		sink.Source(&out)
	}
	return nil
}

// copyRead makes room for another copy. Every copy that was read from the ring counts, even if it is not used.
func (s *Stream) copyRead() error {
	s.copies++
	if err := s.objects.CopiesRead.Set(s.copies); err != nil {
		return fmt.Errorf("acknowledge a copy of a stack: %w", err)
	}
	var scans uint64
	if err := s.objects.Scans.Get(&scans); err != nil {
		return fmt.Errorf("read how many stacks were scanned: %w", err)
	}
	if err := s.objects.ScansSeen.Set(scans); err != nil {
		return fmt.Errorf("acknowledge a copy of a stack: %w", err)
	}
	return nil
}

// accept hands on the record with the next ticket, and acknowledges it.
func (s *Stream) accept(b *kernelBoundary, sink Sink) error {
	s.expected = b.Ticket + 1
	switch kernelBoundaryKind(b.Kind) {
	case kernelBoundaryKindRECORD_DEVICE:
		s.devices.keep(b)
	case kernelBoundaryKindRECORD_READING:
		r := decodeReading(b)
		s.devices.reading(&r)
		if !s.order.keepReading(&r) {
			sink.Reading(&r)
		}
	default:
		out, extra := decodeBoundary(b)
		out.Refused[event.RefusedReadings] += s.incomplete.Load()
		s.devices.boundary(&out)
		if err := s.order.handOnOrKeep(&out, extra, s.objects.NextTicket, sink); err != nil {
			return err
		}
	}
	s.order.release(s.expected, sink)
	if err := s.objects.Acknowledged.Set(b.Ticket); err != nil {
		return fmt.Errorf("acknowledge a boundary: %w", err)
	}
	return nil
}

// forget begins a root anew.
func (s *Stream) forget(root uint32) {
	s.order.forget(root)
	delete(s.devices.tree, root)
}

// Received returns the number of records that were read from both rings.
func (s *Stream) Received() uint64 { return s.delivered + s.records }

// Delivered returns the number of changes that were read.
func (s *Stream) Delivered() uint64 { return s.delivered }

// SourceLimit is the largest number of bytes that are sent of a cell's typed source, CompiledLimit that of its compiled
// source.
const (
	SourceLimit   = maxChunks * len(kernelSource{}.Text)
	CompiledLimit = maxChunks * (len(kernelSource{}.Text) - 1)

	maxChunks = 64
)
