package tracer

import (
	"fmt"
	"sync"
	"time"

	"ipytracer/event"
	"ipytracer/internal/code/native"
)

// naming finds the names of the frames of native stacks, beside the session. Reading the symbols of a library as large
// as PyTorch's takes tenths of a second. Hundreds of new stacks can come in that time, and the kernel half keeps few
// until they are read. Events behind a stack without names stay in the queue.
//
// Reading a file can take long. Stacks that find no room, or have waited too long, are passed on without symbols, and
// are counted.
type naming struct {
	done func() // called, by any goroutine, when the awaited stack has its names

	mu      sync.Mutex
	todo    []unnamedStack // in the order they were queued
	frames  int            // of todo
	running chan struct{}  // closed once all have names; nil before the first
	idle    bool           // no goroutine is naming
	asked   bool           // the session waits for the first one
	stuck   bool           // the naming goroutine's current stack has been passed on without it
	without uint64         // stacks that went without symbols
	outer   map[*event.Frame][]event.Frame

	names map[codePlace]event.Frame // used only by the naming goroutine
}

// unnamedStack is a native stack with known places and no names yet.
type unnamedStack struct {
	event  *event.Stack
	places []codePlace
	rest   []event.Frame // Python frames behind the native ones
}

// size returns the number of frames that the stack will have.
func (s *unnamedStack) size() int { return len(s.places) + len(s.rest) }

// codePlace is a place in the code of a file, or a function with a known name.
type codePlace struct {
	module   *native.Module // nil: only function and name are known
	function string
	name     string // of the file
	vaddr    uint64 // the return address in the file, or the instruction
	leaf     bool   // vaddr is that of the instruction
}

// unknownPlace stands for unknown calls.
var unknownPlace = codePlace{function: "?"}

const (
	// maxNames is the maximum of names kept for reuse.
	maxNames = 1 << 17
	// maxUnnamed is the maximum of frames of all stacks that wait for their names: some 150 MiB, once they have them.
	maxUnnamed = 1 << 20
	// namingPatience is how long a running session waits for names when too many events wait behind them. endPatience
	// is the same at the end of the session.
	namingPatience, endPatience = 5 * time.Second, 30 * time.Second
)

// name queues a stack for naming. Until it has its names, its event belongs to another goroutine.
func (n *naming) name(s unnamedStack) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stuck {
		n.pass(s)
		return
	}
	if n.frames+s.size() > maxUnnamed {
		n.without++
		s.event.Frames = n.unknownIn(s.rest)
		return
	}
	n.todo = append(n.todo, s)
	n.frames += s.size()
	if n.running == nil || n.idle {
		n.running, n.idle = make(chan struct{}), false
		go n.run(n.running)
	}
}

// pass gives a stack frames without symbols, for which no file is read.
func (n *naming) pass(s unnamedStack) {
	frames := make([]event.Frame, 0, s.size())
	for _, p := range s.places {
		frames = append(frames, p.plain())
	}
	s.event.Frames = append(frames, s.rest...)
	n.without++
}

// letGo drops the cached names, unless the naming goroutine is using them.
func (n *naming) letGo() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.outer = nil
	if n.running == nil || n.idle {
		n.names = nil
	}
}

// unknownIn returns the given frames behind one that stands for unknown native code. The result is kept for the whole
// session, as Python stacks are: as many frames, and one more of each stack.
func (n *naming) unknownIn(rest []event.Frame) []event.Frame {
	if len(rest) == 0 {
		return []event.Frame{unknownPlace.plain()}
	}
	known := n.outer[&rest[0]]
	if known == nil {
		if n.outer == nil {
			n.outer = map[*event.Frame][]event.Frame{}
		}
		known = append([]event.Frame{unknownPlace.plain()}, rest...)
		n.outer[&rest[0]] = known
	}
	return known
}

func (n *naming) run(ended chan struct{}) {
	defer close(ended)
	for {
		n.mu.Lock()
		if n.idle = len(n.todo) == 0; n.idle {
			n.stuck = false
			n.mu.Unlock()
			return
		}
		first := n.todo[0]
		n.mu.Unlock()
		frames := make([]event.Frame, 0, first.size())
		for _, p := range first.places {
			frames = append(frames, n.frame(p))
		}
		if n.named(&first, append(frames, first.rest...)) && n.done != nil {
			n.done()
		}
	}
}

// named gives the first stack its frames, unless it was passed on already, and reports whether the session waits for
// it.
func (n *naming) named(first *unnamedStack, frames []event.Frame) (asked bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stuck {
		n.stuck = false
		return false
	}
	first.event.Frames = frames
	n.todo[0] = unnamedStack{}
	n.todo = n.todo[1:]
	n.frames -= first.size()
	asked, n.asked = n.asked, false
	return asked
}

// holds reports whether an event waits for names. Each time it returns true, done is called once when the event has
// them.
func (n *naming) holds(e event.Event) bool {
	s, ok := e.(*event.Stack)
	if !ok {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = len(n.todo) > 0 && n.todo[0].event == s // stacks get names in the order of the queue
	return n.asked
}

// wait waits until all stacks have names. After the given time it passes the remaining stacks on without symbols, and
// later ones too while the same file is being read.
func (n *naming) wait(patience time.Duration) {
	n.mu.Lock()
	running, stuck := n.running, n.stuck
	n.mu.Unlock()
	if running == nil || stuck || isClosed(running, patience) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.idle {
		return
	}
	for _, s := range n.todo {
		n.pass(s)
	}
	n.stuck, n.asked = len(n.todo) > 0, false
	n.todo, n.frames = nil, 0
}

// passed returns the number of stacks without symbols.
func (n *naming) passed() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.without
}

// frame names a place.
func (n *naming) frame(p codePlace) event.Frame {
	if p.module == nil {
		return p.plain()
	}
	f, known := n.names[p]
	if !known {
		f = p.describe()
		if n.names == nil || len(n.names) >= maxNames {
			n.names = map[codePlace]event.Frame{}
		}
		n.names[p] = f
	}
	return f
}

// plain returns the frame of a place without symbols.
func (p codePlace) plain() event.Frame {
	function := p.function
	if p.module != nil {
		function = p.offset()
	}
	return event.Frame{Function: function, Native: true, Module: p.name}
}

func (p codePlace) offset() string { return fmt.Sprintf("%s+%#x", p.name, p.vaddr) }

func (p codePlace) describe() event.Frame {
	at := p.vaddr
	if !p.leaf {
		at-- // the call before the return address, which may be the last instruction of its function
	}
	found := p.module.Place(at)
	if found.Function == "" {
		found.Function = p.offset()
	}
	return event.Frame{
		Function: nativeText(found.Function, len(found.Function)), File: nativeText(found.File, len(found.File)),
		Line: int32(min(max(found.Line, 0), 1<<31-1)), Native: true, Module: p.name,
	}
}
