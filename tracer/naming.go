package tracer

import (
	"fmt"
	"sync"

	"ipytracer/event"
	"ipytracer/tracer/native"
)

// naming names the frames of native stacks, beside the session. Reading the symbols of a library as large as PyTorch's takes tenths of a
// second, in which hundreds of new stacks can come, and the kernel half keeps few until somebody reads them. What is queued behind a stack
// without names is not handed out.
type naming struct {
	done func() // called, by any goroutine, when the stack that was waited for has its names

	mu      sync.Mutex
	todo    []unnamedStack // in the order they were queued
	running chan struct{}  // closed once all have names; nil before the first
	idle    bool           // nobody names
	asked   bool           // somebody waits for the first one

	names map[codePlace]event.Frame // of the goroutine that names
}

// unnamedStack is a native stack whose places are known, and whose names are not.
type unnamedStack struct {
	event  *event.Stack
	places []codePlace
	rest   []event.Frame // behind them
}

// codePlace is a place in the code of a file, or a frame that has its name already.
type codePlace struct {
	module *native.Module // nil: frame is all there is
	name   string         // of the file
	vaddr  uint64         // the return address in the file, or the instruction
	leaf   bool           // it is that
	frame  event.Frame
}

// maxNames is how many names are kept to be used again.
const maxNames = 1 << 17

// name has a stack named. Until that is done its event belongs to another goroutine.
func (n *naming) name(s unnamedStack) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.todo = append(n.todo, s)
	if n.running == nil || n.idle {
		n.running, n.idle = make(chan struct{}), false
		go n.run(n.running)
	}
}

func (n *naming) run(ended chan struct{}) {
	defer close(ended)
	for {
		n.mu.Lock()
		if n.idle = len(n.todo) == 0; n.idle {
			n.mu.Unlock()
			return
		}
		first := n.todo[0]
		n.mu.Unlock()
		frames := make([]event.Frame, 0, len(first.places)+len(first.rest))
		for _, p := range first.places {
			frames = append(frames, n.frame(p))
		}
		first.event.Frames = append(frames, first.rest...)
		n.mu.Lock()
		n.todo[0] = unnamedStack{}
		n.todo = n.todo[1:]
		asked := n.asked
		n.asked = false
		n.mu.Unlock()
		if asked && n.done != nil {
			n.done()
		}
	}
}

// holds reports whether an event waits for names. Whoever asks in vain is told when it has them, by done.
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

// wait waits until all have names.
func (n *naming) wait() {
	n.mu.Lock()
	running := n.running
	n.mu.Unlock()
	if running != nil {
		<-running
	}
}

// frame names a place.
func (n *naming) frame(p codePlace) event.Frame {
	if p.module == nil {
		return p.frame
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

func (p codePlace) describe() event.Frame {
	at := p.vaddr
	if !p.leaf {
		at-- // the call before it, which may be the last instruction of its function
	}
	found := p.module.Place(at)
	if found.Function == "" {
		found.Function = fmt.Sprintf("%s+%#x", p.name, p.vaddr)
	}
	return event.Frame{
		Function: nativeText(found.Function, len(found.Function)), File: nativeText(found.File, len(found.File)),
		Line: int32(min(max(found.Line, 0), 1<<31-1)), Native: true, Module: p.name,
	}
}
