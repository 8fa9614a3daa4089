package running

import (
	"fmt"
	"sync"
	"time"

	"ipytracer/event"
	"ipytracer/internal/code/elffile"
	"ipytracer/tracer/internal/tracee"
)

// Naming finds the names of the frames of native stacks, beside the session. Reading the symbols of a library as large
// as PyTorch's takes tenths of a second. Hundreds of new stacks can come in that time, and the kernel half keeps few
// until they are read. Events behind a stack without names stay in the queue.
//
// Reading a file can take long. Stacks that find no room, or have waited too long, are passed on without symbols, and
// are counted.
type Naming struct {
	Done func() // called, by any goroutine, when the awaited stack has its names

	mu      sync.Mutex
	Todo    []UnnamedStack // in the order they were queued
	Frames  int            // of Todo
	Running chan struct{}  // closed once all have names; nil before the first
	Idle    bool           // no goroutine is naming
	asked   bool           // the session waits for the first one
	stuck   bool           // Wait has passed on the stack on which the naming goroutine works
	without uint64         // stacks that went without symbols
	outer   map[*event.Frame][]event.Frame

	names map[CodePlace]event.Frame // used only by the naming goroutine
}

// UnnamedStack is a native stack with known places and no names yet.
type UnnamedStack struct {
	Event  *event.Stack
	Places []CodePlace
	Rest   []event.Frame // Python frames behind the native ones
}

// size returns the number of frames that the stack will have.
func (s *UnnamedStack) size() int { return len(s.Places) + len(s.Rest) }

// CodePlace is a place in the code of a file, or a function with a known name.
type CodePlace struct {
	Module   *elffile.Module // nil: only function and name are known
	Function string
	Name     string // of the file
	VAddr    uint64 // the return address in the file, or the instruction
	leaf     bool   // VAddr is that of the instruction
}

// UnknownPlace stands for a call of unknown code.
var UnknownPlace = CodePlace{Function: "?"}

const (
	// maxNames is the maximum of names kept for reuse.
	maxNames = 1 << 17
	// MaxUnnamed is the largest number of frames, of all stacks, that wait for their names. With names they take some
	// 150 MiB.
	MaxUnnamed = 1 << 20
	// NamingPatience is how long a running session waits for names when too many events wait behind them. EndPatience
	// is how long a session that ends waits.
	NamingPatience, EndPatience = 5 * time.Second, 30 * time.Second
)

// Name queues a stack for naming. Until the stack has its names, its event belongs to another goroutine.
func (n *Naming) Name(s UnnamedStack) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stuck {
		n.passUnnamed(s)
		return
	}
	if n.Frames+s.size() > MaxUnnamed {
		n.without++
		s.Event.Frames = n.unknownIn(s.Rest)
		return
	}
	n.Todo = append(n.Todo, s)
	n.Frames += s.size()
	if n.Running == nil || n.Idle {
		n.Running, n.Idle = make(chan struct{}), false
		go n.run(n.Running)
	}
}

// passUnnamed gives a stack frames without symbols, without reading a file.
func (n *Naming) passUnnamed(s UnnamedStack) {
	frames := make([]event.Frame, 0, s.size())
	for _, p := range s.Places {
		frames = append(frames, p.plain())
	}
	s.Event.Frames = append(frames, s.Rest...)
	n.without++
}

// dropCaches drops the cached frames and names. It leaves the names that the naming goroutine is using.
func (n *Naming) dropCaches() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.outer = nil
	if n.Running == nil || n.Idle {
		n.names = nil
	}
}

// unknownIn returns the frames rest behind one that stands for unknown native code. It keeps the result, so that stacks
// with the same rest share the memory.
func (n *Naming) unknownIn(rest []event.Frame) []event.Frame {
	if len(rest) == 0 {
		return []event.Frame{UnknownPlace.plain()}
	}
	known := n.outer[&rest[0]]
	if known == nil {
		if n.outer == nil {
			n.outer = map[*event.Frame][]event.Frame{}
		}
		known = append([]event.Frame{UnknownPlace.plain()}, rest...)
		n.outer[&rest[0]] = known
	}
	return known
}

func (n *Naming) run(ended chan struct{}) {
	defer close(ended)
	for {
		n.mu.Lock()
		if n.Idle = len(n.Todo) == 0; n.Idle {
			n.stuck = false
			n.mu.Unlock()
			return
		}
		first := n.Todo[0]
		n.mu.Unlock()
		frames := make([]event.Frame, 0, first.size())
		for _, p := range first.Places {
			frames = append(frames, n.frame(p))
		}
		if n.setFrames(&first, append(frames, first.Rest...)) && n.Done != nil {
			n.Done()
		}
	}
}

// setFrames gives the first stack its frames, unless Wait has passed the stack on. It reports whether the session waits
// for the stack.
func (n *Naming) setFrames(first *UnnamedStack, frames []event.Frame) (isAwaited bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stuck {
		n.stuck = false
		return false
	}
	first.Event.Frames = frames
	n.Todo[0] = UnnamedStack{}
	n.Todo = n.Todo[1:]
	n.Frames -= first.size()
	isAwaited, n.asked = n.asked, false
	return isAwaited
}

// Holds reports whether an event is a stack that waits for its names. If so, Done is called once when the stack has
// them.
func (n *Naming) Holds(e event.Event) bool {
	stack, ok := e.(*event.Stack)
	if !ok {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	// Stacks get names in the order of the queue: one that waits, and is asked for, is the first.
	n.asked = len(n.Todo) > 0 && n.Todo[0].Event == stack
	return n.asked
}

// Wait waits until all stacks have names. After the given time it passes the remaining stacks on without symbols. It
// also does so with later stacks while the same file is being read.
func (n *Naming) Wait(patience time.Duration) {
	n.mu.Lock()
	running, stuck := n.Running, n.stuck
	n.mu.Unlock()
	if running == nil || stuck || IsClosed(running, patience) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Idle {
		return
	}
	for _, s := range n.Todo {
		n.passUnnamed(s)
	}
	n.stuck, n.asked = len(n.Todo) > 0, false
	n.Todo, n.Frames = nil, 0
}

// Passed returns the number of stacks without symbols.
func (n *Naming) Passed() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.without
}

// frame names a place.
func (n *Naming) frame(p CodePlace) event.Frame {
	if p.Module == nil {
		return p.plain()
	}
	f, known := n.names[p]
	if !known {
		f = p.describe()
		if n.names == nil || len(n.names) >= maxNames {
			n.names = map[CodePlace]event.Frame{}
		}
		n.names[p] = f
	}
	return f
}

// plain returns the frame of a place without symbols.
func (p CodePlace) plain() event.Frame {
	function := p.Function
	if p.Module != nil {
		function = p.offset()
	}
	return event.Frame{Function: function, Native: true, Module: p.Name}
}

func (p CodePlace) offset() string { return fmt.Sprintf("%s+%#x", p.Name, p.VAddr) }

func (p CodePlace) describe() event.Frame {
	at := p.VAddr
	if !p.leaf {
		at-- // the call before the return address, which may be the last instruction of its function
	}
	found := p.Module.Place(at)
	if found.Function == "" {
		found.Function = p.offset()
	}
	return event.Frame{
		Function: tracee.NativeText(found.Function, len(found.Function)), File: tracee.NativeText(found.File,
			len(found.File)),
		Line: int32(min(max(found.Line, 0), 1<<31-1)), Native: true, Module: p.Name,
	}
}
