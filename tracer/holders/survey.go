package holders

import (
	"context"
	"fmt"
	"io"
	"time"

	"ipytracer/tracer/cpython"
)

// Survey is what a look at all objects of a Python has shown. Whatever is to be found out about them begins with one; its methods
// are for one goroutine at a time. It must be closed.
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
	began    time.Duration     // what Used said when it began
}

// Process is what is known of a process whose objects are looked at. The zero value is for nothing.
type Process struct {
	// Mapped is what it has mapped, in the order of addresses: a size that does not fit is not believed. It is needed for [Survey.List].
	Mapped []Block
	Used   func() time.Duration // how much processor time it has taken, or less than nothing
}

// NewSurvey looks at all objects. It is an error where the interpreter cannot be found in the process.
func NewSurvey(ctx context.Context, p *cpython.Interpreter, process Process, limits Limits) (*Survey, error) {
	heap, err := p.Heap()
	if err != nil {
		return nil, fmt.Errorf("holders: %w", err)
	}
	return newSurvey(ctx, heap, p.Memory(), process, limits)
}

func newSurvey(ctx context.Context, heap cpython.Heap, from io.ReaderAt, process Process, limits Limits) (*Survey, error) {
	limits.defaults()
	if process.Used == nil {
		process.Used = func() time.Duration { return -1 }
	}
	s := &Survey{heap: heap, mem: newMemory(from, limits.Bytes), process: process}
	if err := s.look(ctx, limits); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close gives back what the survey keeps of the process's memory.
func (s *Survey) Close() {
	s.mem.close()
	s.notes.free()
	s.notes, s.believed = nil, nil
}

// Rest gives back memory until the survey is asked again, which takes longer then.
func (s *Survey) Rest() { s.mem.release() }

// look takes in what there is, and forgets what was there before.
func (s *Survey) look(ctx context.Context, limits Limits) error {
	s.mem.forget()
	s.notes.free()
	s.began, s.believed, s.notes, s.sizes = s.process.Used(), nil, nil, nil
	if s.process.Mapped != nil {
		s.sizes = &sizes{mapped: s.process.Mapped, lineages: map[*typ]lineage{}}
	}
	w := newWalker(ctx, s.heap, s.mem, nil, limits)
	w.sizes, w.stood, s.mem.limit, s.mem.err = s.sizes, s.stood, s.mem.total+limits.Bytes, nil
	if err := w.learnTypes(); err != nil {
		return fmt.Errorf("holders: %w", err)
	}
	s.believed = w.evidence()
	s.stopped, s.types, s.metatype = w.stopped, w.types, w.metatype
	s.notes = w.survey.notes
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

// standing is how much processor time a process may take while it is said to stand still: the threads of an idle kernel wake up
// about twice a second, for some 0.1 ms.
const standing = 5 * time.Millisecond

// stood says whether the process has hardly run since the survey began.
func (s *Survey) stood() bool {
	used := s.process.Used()
	return s.began >= 0 && used >= 0 && used-s.began < standing
}

// walker makes a walker that knows what was found out.
func (s *Survey) walker(ctx context.Context, blocks []Block, limits Limits) *walker {
	w := newWalker(ctx, s.heap, s.mem, blocks, limits)
	w.believed, s.mem.limit, s.mem.err = s.believed, s.mem.total+limits.Bytes, nil
	w.types, w.metatype, w.sizes = s.types, s.metatype, s.sizes
	w.notes, w.of = s.notes, make([]int32, len(s.notes.noted))
	return w
}

// reserve makes room for so many nodes.
func (w *walker) reserve(nodes int) {
	nodes = min(nodes+nodes/64+1024, w.limits.Objects)
	w.nodes, w.addrs = make([]node, 0, nodes), make([]uint64, 0, nodes)
}
