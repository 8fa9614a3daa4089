package holders

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"ipytracer/internal/python/cpython"
)

// Survey has the results of a look at all objects of a Python. Every search begins with one. Its methods are for one
// goroutine at a time; others see the same in a survey of their own ([Survey.Beside]). It must be closed.
type Survey struct {
	heap     cpython.Heap
	mem      *memory
	process  Process
	sizes    *sizes
	types    map[uint64]*typ
	metatype uint64
	notes    *notes
	believed map[guessKey]sure // words that are references, see evidence.go
	stopped  error             // why it ended early
	began    time.Duration     // the time of Used when it began
	closed   chan struct{}     // by Close
	first    <-chan struct{}   // closed by the one that this is beside; nil for none
}

// Process has the known facts of a process with objects that are looked at. The zero value has none.
type Process struct {
	// Mapped are its mappings, in the order of addresses: a size that does not fit is not believed. It is needed for
	// [Survey.List].
	Mapped []Block
	// Pages is /proc/PID/pagemap, nil where it cannot be read: without it, elements of arrays that were never touched
	// are read, which costs the process page tables, and pages of files that are not in memory, which makes them
	// resident. Files are the mappings of files, in the order of addresses.
	Pages io.ReaderAt
	Files []Block
	Heap  Block                // that the program's break ends ("[heap]"), zero if there is none
	Used  func() time.Duration // how much processor time it has taken, or less than nothing
}

// NewSurvey looks at all objects. It is an error where the interpreter cannot be found in the process.
func NewSurvey(ctx context.Context, p *cpython.Interpreter, process Process, limits Limits) (*Survey, error) {
	heap, err := p.Heap()
	if err != nil {
		return nil, fmt.Errorf("holders: %w", err)
	}
	return newSurvey(ctx, heap, p.Memory(), process, limits)
}

func newSurvey(ctx context.Context, heap cpython.Heap, from io.ReaderAt, process Process,
	limits Limits) (*Survey, error) {
	defer onThread()()
	limits.defaults()
	if process.Used == nil {
		process.Used = func() time.Duration { return -1 }
	}
	s := &Survey{heap: heap, mem: newMemory(from, limits.Bytes), process: process, closed: make(chan struct{})}
	s.mem.files = filePages{process.Pages, process.Files, process.Mapped}
	if err := s.look(ctx, limits); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close gives back the survey's copies of the process's memory.
func (s *Survey) Close() {
	s.mem.close()
	s.notes.release()
	s.notes, s.believed = nil, nil
	close(s.closed)
}

// Beside returns the same survey for another goroutine. The notes are there once; each keeps its further reads for
// itself. It must be closed, too, as soon as it is not needed, and looks anew only once the first is closed.
func (s *Survey) Beside() *Survey {
	other := *s
	other.mem = newMemory(s.mem.r, 0)
	other.mem.total, other.mem.files = s.mem.total, s.mem.files
	other.mem.few() // most of the needed facts were noted
	other.types = maps.Clone(s.types)
	other.closed, other.first = make(chan struct{}), s.closed
	if s.sizes != nil {
		other.sizes = &sizes{mapped: s.sizes.mapped, numpy: s.sizes.numpy, lineages: maps.Clone(s.sizes.lineages),
			heap: s.sizes.heap, foreign: foreign{of: s.sizes.foreign.of}}
	}
	s.notes.share()
	return &other
}

// Stopped returns the reason why not all objects were looked at, nil if they were. With a reason there are no results.
func (s *Survey) Stopped() error { return s.stopped }

// Looked returns the number of objects that were met.
func (s *Survey) Looked() int { return len(s.notes.noted) }

// Rest gives back memory until the survey is asked again, which takes longer then.
func (s *Survey) Rest() { s.mem.release() }

// look takes in the present objects, and forgets the earlier ones.
func (s *Survey) look(ctx context.Context, limits Limits) error {
	s.mem.forget()
	s.notes.release()
	if s.first != nil { // two sets of notes take too much memory
		<-s.first
	}
	s.began, s.believed, s.notes, s.sizes = s.process.Used(), nil, nil, nil
	if s.process.Mapped != nil {
		s.sizes = &sizes{mapped: s.process.Mapped, lineages: map[*typ]lineage{}, heap: s.process.Heap,
			foreign: foreign{collects: true}}
	}
	w := newWalker(ctx, s.heap, s.mem, nil, limits)
	w.sizes, s.mem.limit, s.mem.err = s.sizes, s.mem.total+limits.Bytes, nil
	if err := w.learnTypes(); err != nil {
		return fmt.Errorf("holders: %w", err)
	}
	look := newSurveyOf(w)
	look.stood = s.stood
	s.believed = look.evidence()
	s.stopped, s.types, s.metatype = w.stopped, w.byAddr, w.metatype
	s.notes = look.notes
	s.notes.index, s.notes.addrs = w.index, w.addrs
	for _, one := range s.notes.noted {
		if !one.is(noteLeaf) {
			s.notes.containers++
		} else if one.references > 1 {
			s.notes.shared++
		}
	}
	return nil
}

// standing is the processor time that a process may take while it counts as standing still: the threads of an idle
// kernel wake up about twice a second, for some 0.1 ms.
const standing = 5 * time.Millisecond

// stood reports whether the process has hardly run since the survey began.
func (s *Survey) stood() bool {
	used := s.process.Used()
	return s.began >= 0 && used >= 0 && used-s.began < standing
}

// walker makes a walker that knows the survey's findings.
func (s *Survey) walker(ctx context.Context, blocks []Block, limits Limits) *walker {
	w := newWalker(ctx, s.heap, s.mem, blocks, limits)
	w.beliefs.believed, s.mem.limit, s.mem.err = s.believed, s.mem.total+limits.Bytes, nil
	w.byAddr, w.metatype, w.sizes = s.types, s.metatype, s.sizes
	w.notes = s.notes
	w.of, w.room.of = newRegion[int32](len(s.notes.noted))
	w.of = slices.Grow(w.of, len(s.notes.noted))[:len(s.notes.noted)]
	return w
}

var errNotMapped = errors.New("holders: what the process has mapped is not known, so " +
	"neither is how large its objects are")

// List returns a Python's objects, by name: the user's variables, IPython's outputs, and large objects that only
// modules, tracebacks or frames have. It is the last call on a survey, and waits for the surveys beside it. It fails as
// [Survey.Find] does, and without [Process.Mapped].
func (s *Survey) List(ctx context.Context, limits Limits) (Listing, error) {
	defer onThread()()
	if s.sizes == nil {
		return Listing{}, errNotMapped
	}
	limits.defaults()
	s.mem.few() // most of the needed facts were noted
	w := s.walker(ctx, nil, limits)
	defer w.free()
	w.stopped = s.stopped
	return listOf(w, func() {
		s.notes.wait()
		s.notes.release()
		s.notes = nil
	}), nil
}
