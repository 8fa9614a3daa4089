package holders

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// Survey has the results of a look at all objects of a Python. Every search begins with one. Its methods are for one
// goroutine at a time; another goroutine takes a second survey of the same objects ([Survey.Beside]). It must be
// closed.
type Survey struct {
	found   walk.Findings
	process Process
	began   time.Duration   // what Process.Used returned when the look began
	closed  chan struct{}   // closed by Close
	first   <-chan struct{} // closed when the survey that Beside was called on is closed; nil for that survey itself
}

// Process has the known facts of the process that is surveyed. The zero value has none.
type Process struct {
	// Mapped are the process's mappings, in the order of addresses: an object's size is not believed if it exceeds its
	// mapping. [Survey.List] needs them.
	Mapped []objects.Block
	// Pages is /proc/PID/pagemap, nil where it cannot be read: without it, elements of arrays that were never touched
	// are read, which costs the process page tables, and pages of files that are not in memory, which makes them
	// resident. Files are the mappings of files, in the order of addresses.
	Pages io.ReaderAt
	Files []objects.Block
	Heap  objects.Block        // the mapping that ends at the program's break ("[heap]"), zero if there is none
	Used  func() time.Duration // the processor time that the process has used, negative if it is not known
}

// NewSurvey looks at all objects. It is an error where the interpreter cannot be found in the process.
func NewSurvey(ctx context.Context, p *cpython.Interpreter, process Process, limits objects.Limits) (*Survey, error) {
	heap, err := p.Heap()
	if err != nil {
		return nil, fmt.Errorf("holders: %w", err)
	}
	return newSurvey(ctx, heap, p.Memory(), process, limits)
}

// newSurvey does what NewSurvey does, for a process with a layout of objects and a memory.
func newSurvey(ctx context.Context, heap cpython.Heap, from io.ReaderAt, process Process,
	limits objects.Limits) (*Survey, error) {
	defer objects.OnThread()()
	limits.Defaults()
	if process.Used == nil {
		process.Used = func() time.Duration { return -1 }
	}
	s := &Survey{found: walk.Findings{Heap: heap, Mem: objects.NewMemory(from, limits.Bytes)}, process: process,
		closed: make(chan struct{})}
	s.found.Mem.Files = objects.FilePages{Pagemap: process.Pages, Files: process.Files, Mapped: process.Mapped}
	if err := s.look(ctx, limits); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close gives back the survey's copies of the process's memory.
func (s *Survey) Close() {
	s.found.Mem.Close()
	s.found.Release()
	close(s.closed)
}

// Beside returns a survey of the same objects for another goroutine. Both share the notes, but not the pages that they
// read. The new survey must be closed, too, as soon as it is not needed. It looks anew only once the first is closed.
func (s *Survey) Beside() *Survey {
	return &Survey{found: s.found.Share(), process: s.process, began: s.began, closed: make(chan struct{}),
		first: s.closed}
}

// Stopped returns the reason why not all objects were looked at, nil if they were. With a reason there are no results.
func (s *Survey) Stopped() error { return s.found.Stopped }

// Looked returns the number of objects that the survey met.
func (s *Survey) Looked() int { return len(s.found.Notes.Noted) }

// Rest frees the copies of the process's memory. The next search reads them again, and takes longer.
func (s *Survey) Rest() { s.found.Mem.Release() }

// look notes the present objects, and forgets those of the last look.
func (s *Survey) look(ctx context.Context, limits objects.Limits) error {
	s.found.Mem.Forget()
	s.found.Release()
	if s.first != nil { // two sets of notes take too much memory
		<-s.first
	}
	s.began, s.found.Sizes = s.process.Used(), nil
	if s.process.Mapped != nil {
		s.found.Sizes = &objects.Sizes{Mapped: s.process.Mapped, Lineages: map[*objects.Type]objects.Lineage{},
			Heap: s.process.Heap, Foreign: objects.LibraryMemory{Collects: true}}
	}
	if err := s.found.Count(ctx, limits, s.wasIdle); err != nil {
		return fmt.Errorf("holders: %w", err)
	}
	return nil
}

// maxIdleTime is the processor time that a process may use and still count as idle: the threads of an idle kernel wake
// up about twice a second, for some 0.1 ms.
const maxIdleTime = 5 * time.Millisecond

// wasIdle reports whether the process has hardly run since the look began.
func (s *Survey) wasIdle() bool {
	used := s.process.Used()
	isKnown := s.began >= 0 && used >= 0
	return isKnown && used-s.began < maxIdleTime
}

var errNotMapped = errors.New("holders: the mappings of the process are not known, so its objects have no sizes")

// List returns a Python's objects, by name: the user's variables, IPython's outputs, and large objects that only
// modules, tracebacks or frames have. It is the last call on a survey, and waits for the surveys beside it. It fails as
// [Survey.Find] does, and without [Process.Mapped].
func (s *Survey) List(ctx context.Context, limits objects.Limits) (Listing, error) {
	defer objects.OnThread()()
	if s.found.Sizes == nil {
		return Listing{}, errNotMapped
	}
	limits.Defaults()
	s.found.Mem.KeepFew() // most of the needed facts were noted
	w := s.found.Walker(ctx, nil, limits)
	defer w.Free()
	w.Stopped = s.found.Stopped
	return listVariables(w, func() {
		s.found.Notes.Wait()
		s.found.Notes.Release()
		s.found.Notes = nil
	}), nil
}
