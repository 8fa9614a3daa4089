package tracer

import (
	"fmt"
	"sync"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/code/native"
)

// naming names the frames of native stacks, beside the session. Reading the symbols of a library as large as PyTorch's
// takes tenths of a second, in which hundreds of new stacks can come, and the kernel half keeps few until somebody
// reads them. What is queued behind a stack without names is not handed out.
//
// A file can take long to read. Stacks that find no room, or have waited too long, go without symbols, and are counted.
type naming struct {
	done func() // called, by any goroutine, when the stack that was waited for has its names

	mu      sync.Mutex
	todo    []unnamedStack // in the order they were queued
	frames  int            // of todo
	running chan struct{}  // closed once all have names; nil before the first
	idle    bool           // nobody names
	asked   bool           // somebody waits for the first one
	stuck   bool           // the goroutine that names has been given up for the stack it is at
	without uint64         // stacks that went without symbols
	outer   map[*event.Frame][]event.Frame

	names map[codePlace]event.Frame // of the goroutine that names
}

// unnamedStack is a native stack with known places and no names yet.
type unnamedStack struct {
	event  *event.Stack
	places []codePlace
	rest   []event.Frame // behind them
}

// size is how many frames the stack will have.
func (s *unnamedStack) size() int { return len(s.places) + len(s.rest) }

// codePlace is a place in the code of a file, or a function that has its name already.
type codePlace struct {
	module   *native.Module // nil: function and name are all there is
	function string
	name     string // of the file
	vaddr    uint64 // the return address in the file, or the instruction
	leaf     bool   // it is that
}

// unknownPlace stands for calls that are not known.
var unknownPlace = codePlace{function: "?"}

const (
	// maxNames is how many names are kept to be used again.
	maxNames = 1 << 17
	// maxUnnamed is how many frames the stacks have together that wait for their names: some 150 MiB, once they have
	// them.
	maxUnnamed = 1 << 20
	// namingPatience is how long a session that runs waits for names when too many events wait behind them, and
	// endPatience how long its end does.
	namingPatience, endPatience = 5 * time.Second, 30 * time.Second
)

// name has a stack named. Until that is done its event belongs to another goroutine.
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

// letGo forgets names that were read, unless some are being read.
func (n *naming) letGo() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.outer = nil
	if n.running == nil || n.idle {
		n.names = nil
	}
}

// unknownIn returns the frames of native code that is not known, in front of others. Python stacks are kept for the
// whole session, and so are these: as many frames, and one more of each.
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

// named gives the first stack its frames, unless it was given up, and reports whether somebody waits for it.
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

// holds reports whether an event waits for names. When it has them, done is called, once for each time this was true.
func (n *naming) holds(e event.Event) bool {
	s, ok := e.(*event.Stack)
	if !ok {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = len(n.todo) > 0 && n.todo[0].event == s // they have names in the order they have in the queue
	return n.asked
}

// wait waits until all have names. After some time it passes the others on without symbols, and those that come while
// the same file is read.
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

// passed is how many stacks have no symbols.
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

// plain returns a place's frame without symbols.
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
		at-- // the call before it, which may be the last instruction of its function
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
