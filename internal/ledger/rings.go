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

// Stream reads the records of both rings, in order, and knows how far it has read.
type Stream struct {
	objects     *kernelObjects
	tracepoints *Tracepoints // the source of their counts of misses
	copied      func() error // reports to the kernel that a copy of a stack has been read: copyRead

	opening     sync.Mutex // held while the readers below are changed, and by Wake
	bell        *bell      // of the boundary ring
	boundaries  *ringbuf.Reader
	changes     *ringbuf.Reader
	resting     bool
	record      ringbuf.Record
	change      ringbuf.Record
	expected    uint64 // ticket of the next record
	delivered   uint64 // changes that were read
	records     uint64 // read from the boundary ring
	recovered   uint64 // boundary records that came from the store
	copies      uint64 // copies of stacks that were read
	overtaken   overtaken
	readingWait time.Duration // longest wait of delivered boundaries for their readings
	incomplete  atomic.Uint64 // polls that may have handed on a boundary without the readings of other processes
	order       segmentOrder
	devices     deviceReadings
}

// Sink receives the contents of the rings. A *event.Change is only valid during the call.
type Sink interface {
	Change(*event.Change)
	Refusal(*event.Refusal)
	Foreign(*event.Foreign)
	Boundary(*event.Boundary, BoundaryExtra)
	Reading(*event.Reading)
	Source(*SourceChunk)
	Code(*Code)
	Stack(*Stack)
	NativeStack(*NativeStack)
	StackCopy(*StackCopy)
	// LibrariesChanged is called when a process loaded or unloaded a shared library, or is about to.
	LibrariesChanged(pid int32)
}

// Code is a code object to which a stack refers, as it was when it was first seen.
type Code struct {
	PID          int32
	Number       uint64
	FirstLine    int32 // co_firstlineno
	File, Name   string
	Table        []byte // the beginning of its line table
	TableAddress uint64 // of the whole table
	TableSize    int    // bytes of the whole table; -1 if it could not be read
}

// Frame is a place in a code object.
type Frame struct {
	Code uint64 // number of a [Code]; 0 if it could not be read
	At   int64  // f_lasti before 3.11, bytes from the first instruction since
}

// Stack is a Python stack, innermost frame first.
type Stack struct {
	PID    int32
	Number uint64
	Frames []Frame
	More   bool // there were more frames
}

// SourceChunk is a part of a cell's source. The typed text comes first, then the text that IPython compiles.
type SourceChunk struct {
	Cell   uint64
	PID    int32
	Kind   uint32 // typed: bytes in one character, see [DecodeText]; 0: compiled, UTF-8
	Offset int    // bytes before it
	Total  int    // typed: bytes of the whole text, even if not all are sent
	Text   []byte // valid during the call; the last one of the compiled text ends with a NUL
}

// BoundaryExtra has the parts of a boundary for package tracer alone, which turns this raw material into fields.
type BoundaryExtra struct {
	FirstLine int32   // StatementOpen: co_firstlineno
	LineTable []byte  // StatementOpen: the beginning of the code object's line table
	Group     Group   // MeterShed, MeterBack
	Foreign   Foreign // not 0: about blocks that the probes in NumPy do not see, and not about the budget
	Told      bool    // CellResult, CellClose: the outcome is IPython's own report, and final
	Status    int32   // ProcessExit: the status of wait(2)
	// OutOfMemory: ProcessExit of a process that the kernel's OOM killer had chosen.
	OutOfMemory bool
	NamedPython bool    // ProcessExec: the program's file is named python…, as every CPython's is
	Imports     Imports // ProcessExec: of the process before; ProcessExit
}

// Imports are libraries that allocate and that a process has mapped as code since its exec, by the names of their
// files.
type Imports uint32

// Bits of [Imports].
const (
	ImportsNumPy = Imports(kernelImportsIMPORTS_NUMPY)
	ImportsTorch = Imports(kernelImportsIMPORTS_TORCH)
	ImportsCUDA  = Imports(kernelImportsIMPORTS_CUDA)
	ImportsArrow = Imports(kernelImportsIMPORTS_ARROW)
)

// Poll waits until something happens or the deadline passes, and hands all available records to sink: all changes made
// before a boundary come before it. It returns nil when the deadline has passed.
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
	s.tracepoints.look(time.Now())
	all, err := sharedCounts{s.objects.SharedBegun, s.objects.SharedTold}.finish(s.readingWait, func() error {
		var next uint64
		if err := s.objects.NextTicket.Get(&next); err != nil {
			return fmt.Errorf("read the next ticket: %w", err)
		}
		// By now every record with a ticket is in the ring, unless the ring was full. The store is read only after
		// another read of the ring: else boundaries would overtake the changes and the source in front of them.
		if err := s.readBoundaries(sink); err != nil {
			return err
		}
		return s.recover(next, false, sink)
	})
	if err == nil && !all { // as if there had been no room for them: the next boundary reports it
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
		if c.Meter&uint32(kernelChangeFlagCHANGE_REFUSED) != 0 {
			out := decodeRefusal(c)
			sink.Refusal(&out)
			continue
		}
		if c.Meter&uint32(kernelChangeFlagCHANGE_FOREIGN) != 0 {
			out := decodeForeign(c)
			sink.Foreign(&out)
			continue
		}
		out := decodeChange(c)
		sink.Change(&out)
	}
}

// deliver hands on one record of the boundary ring, and before it the records for which the ring had no room.
func (s *Stream) deliver(raw []byte, sink Sink) error {
	if b, ok := view[kernelBoundary](raw); ok && b.Ticket != 0 {
		if b.Ticket < s.expected {
			return nil // it already came from the store, or its time was over
		}
		if err := s.recover(b.Ticket, true, sink); err != nil {
			return err
		}
		return s.accept(b, sink)
	}
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

// copyRead makes room for another copy. Every copy read from the ring counts, even if it is not used.
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

// accept hands on the next record.
func (s *Stream) accept(b *kernelBoundary, sink Sink) error {
	s.expected = b.Ticket + 1
	switch kernelBoundaryKind(b.Kind) {
	case kernelBoundaryKindRECORD_DEVICE:
		s.devices.keep(b)
	case kernelBoundaryKindRECORD_READING:
		r := decodeReading(b)
		s.devices.reading(&r)
		if !s.order.takes(&r) {
			sink.Reading(&r)
		}
	default:
		out, extra := decodeBoundary(b)
		out.Refused[event.RefusedReadings] += s.incomplete.Load()
		s.devices.boundary(&out)
		if err := s.order.accepts(&out, extra, s.objects.NextTicket, sink); err != nil {
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

// SourceLimit is the largest number of bytes sent of a cell's typed source, and CompiledLimit that of its compiled
// source.
const (
	SourceLimit   = 64 * len(kernelSource{}.Text)
	CompiledLimit = 64 * (len(kernelSource{}.Text) - 1)
)
