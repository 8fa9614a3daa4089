package machine

import (
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/isa"
)

// Limits of the analysis of one function.
const (
	maxInstructions = 1 << 15 // of the function itself
	maxCallees      = 128     // called functions that are examined
	maxOfCallee     = 1 << 11 // instructions of one called function
)

// flow is the control flow of one function: its own range and the cold fragments it jumps into.
type flow struct {
	code    *Text
	image   *elffile.Image
	body    elffile.Span // the function itself
	targets map[uint64]bool
	seen    map[uint64]stack // the instructions, with the stack before each
	returns []uint64
	// level is false if the stack pointer is unknown somewhere, or two paths meet with different stacks.
	level bool
	// complete is false if control may leave the function in another way than by one of returns: a tail jump,
	// an indirect jump, code that cannot be decoded, a return with the stack not where it was at entry.
	complete bool
	queue    []state
	limit    int // of instructions
	// tails returns the meaning of a tail call, by its target. A nil tails makes every tail call an unknown exit.
	tails func(target uint64) tail
	// leaves reports whether a jump through a pointer is a tail call of a function in another library. A nil leaves
	// makes every such jump an unknown exit.
	leaves func(in *isa.Instruction) bool
	// exits are the tail calls that count as returns, with the locations of the result after them.
	exits map[uint64]locations
	// linked has the address at which the analysis goes on for each followed tail call, by the tail call's target.
	linked  map[uint64]uint64
	endless map[uint64]bool // by address of a called function: whether it never returns
	// inCallees is how many instructions of called functions have been examined.
	inCallees int
}

// tail is the meaning of a tail call for a search for a function's exits.
type tail struct {
	kind   tailKind
	at     uint64    // tailFollow: the address to go on at
	result locations // tailReturns: where the callee leaves the result
}

type tailKind uint8

const (
	tailLeaves  tailKind = iota // an exit to an unknown place
	tailFollow                  // goes on in code that counts as the function's own
	tailEnds                    // no exit: probes in the callee see the call from then on
	tailReturns                 // an exit, to a function that leaves its result in known locations
)

// usualSize is the assumed size of a function or fragment of unknown size, in bytes.
const usualSize = 4096

func ofUnknownSize(start uint64) elffile.Span {
	return elffile.Span{Start: start, End: start + usualSize}
}

// state is an address from which code is still to be followed, with the stack there.
type state struct {
	addr     uint64
	fragment elffile.Span
	stack    stack
}

// exploreFunction follows every path from entry. size is the symbol's size, 0 where it is not known.
func exploreFunction(code *Text, entry, size uint64) *flow {
	return exploreTails(code, entry, size, nil)
}

// exploreTails does what exploreFunction does, and asks tails about tail calls.
func exploreTails(code *Text, entry, size uint64, tails func(uint64) tail) *flow {
	f := newFlow(code, entry, size)
	f.tails = tails
	f.explore(entry)
	return f
}

func newFlow(code *Text, entry, size uint64) *flow {
	f := &flow{
		code: code, image: code.image, body: elffile.Span{Start: entry, End: entry + size},
		level: true, complete: true, limit: maxInstructions,
		targets: make(map[uint64]bool), seen: make(map[uint64]stack), exits: make(map[uint64]locations),
		linked: make(map[uint64]uint64), endless: make(map[uint64]bool),
	}
	if size == 0 {
		var ok bool
		if f.body, ok = f.image.Fragment(entry); !ok {
			f.body = ofUnknownSize(entry)
		}
	}
	return f
}

func (f *flow) explore(entry uint64) {
	f.queue = []state{{entry, f.body, stack{known: true}}}
	for len(f.queue) > 0 {
		s := f.queue[len(f.queue)-1]
		f.queue = f.queue[:len(f.queue)-1]
		f.follow(s)
	}
}

// follow goes from instruction to instruction until control cannot go on to the next one.
func (f *flow) follow(s state) {
	afterCall := false
	for f.visit(s) {
		if !s.fragment.Contains(s.addr) {
			// A call at the very end of a fragment does not return. The code behind it is another function's.
			f.complete = f.complete && afterCall
			return
		}
		in, ok := f.code.decode(s.addr)
		if !ok || len(f.seen) >= f.limit {
			f.complete = false
			return
		}
		f.seen[s.addr] = s.stack
		afterCall = in.Kind == isa.Call
		switch {
		case in.Kind == isa.Trap, afterCall && f.tails != nil && f.neverReturns(&in):
			return
		case in.Kind == isa.Return:
			f.returns = append(f.returns, in.Addr)
			f.complete = f.complete && s.stack.known && s.stack.pushed == 0
			return
		case in.Jumps():
			f.jump(&in, s)
			if in.Kind != isa.Branch {
				return
			}
		default:
			s.stack.step(&in)
		}
		s.addr = in.End()
	}
}

// neverReturns reports whether a call is to a function of the file without an exit, such as one that reports a broken
// heap and aborts. The code behind such a call belongs to another fragment. neverReturns does not look into the calls
// of that function: a function that never returns only because of them counts as returning.
func (f *flow) neverReturns(call *isa.Instruction) bool {
	target, ok := call.Target()
	if !ok || f.image.InPLT(target) {
		return false
	}
	endless, known := f.endless[target]
	if !known && len(f.endless) < maxCallees {
		body, ok := f.image.Fragment(target)
		callee := newFlow(f.code, target, body.End-target)
		callee.limit = maxOfCallee
		callee.explore(target)
		f.inCallees += len(callee.seen)
		endless = ok && callee.complete && len(callee.returns) == 0
		f.endless[target] = endless
	}
	return endless
}

// visit reports whether the address of s was not seen before. It clears f.level if the stack at s is unknown, or
// differs from the stack that was seen there before.
func (f *flow) visit(s state) bool {
	before, seen := f.seen[s.addr]
	f.level = f.level && s.stack.known && (!seen || s.stack.same(before))
	return !seen
}

// tailCall returns the address at which the analysis goes on for a tail call to target, and sets the fragment of s. ok
// is false if the path ends there.
func (f *flow) tailCall(in *isa.Instruction, s *state, target uint64) (at uint64, ok bool) {
	switch t := f.tails(target); {
	case t.kind == tailFollow:
		if s.fragment, ok = f.image.Fragment(t.at); !ok {
			s.fragment = ofUnknownSize(t.at)
		}
		f.linked[target] = t.at
		return t.at, true
	case t.kind == tailReturns && in.Kind == isa.Jump:
		f.returns = append(f.returns, in.Addr)
		f.exits[in.Addr] = t.result
	case t.kind != tailEnds:
		f.complete = false
	}
	return 0, false
}

// target returns the address to which a direct jump leads, behind the tail calls that were followed.
func (f *flow) target(in *isa.Instruction) (addr uint64, ok bool) {
	target, ok := in.Target()
	if at, linked := f.linked[target]; linked {
		return at, ok
	}
	return target, ok
}

// jump queues the target of a jump, unless it leaves the function.
func (f *flow) jump(in *isa.Instruction, s state) {
	target, ok := in.Target()
	if !ok {
		if f.leaves != nil && f.leaves(in) && s.stack.known && s.stack.pushed == 0 {
			f.returns = append(f.returns, in.Addr)
			return
		}
		f.complete = false // a jump table, or a tail call through a pointer
		return
	}
	f.targets[target] = true
	switch {
	case s.fragment.Contains(target):
	case f.body.Contains(target):
		s.fragment = f.body
	case f.tails != nil && s.stack.known && s.stack.pushed == 0:
		if target, ok = f.tailCall(in, &s, target); !ok {
			return
		}
	case f.image.IsFunction(target), f.image.InPLT(target), !s.stack.known, s.stack.pushed == 0:
		// This is a tail call, or may be: with nothing on the stack, a jump to a cold fragment looks like a jump to a
		// function without a symbol.
		f.complete = false
		return
	default:
		if s.fragment, ok = f.image.Fragment(target); !ok {
			s.fragment = ofUnknownSize(target)
		}
	}
	s.addr = target
	f.queue = append(f.queue, s)
}
