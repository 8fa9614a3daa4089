package machine

import (
	"cmp"
	"math"
	"slices"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/isa"
)

// Limits of the search for references.
const (
	maxToCall = 24      // instructions from a load of the variable to a call
	maxCalls  = 1 << 12 // addresses of calls that are kept for each function
	maxTaken  = 1 << 16 // instructions that take a function's address
	maxLoads  = 1 << 14 // loads of the variable
)

// maxSegmentBytes is the largest total size of the segments of a file that is searched. NumPy's have 10 MiB, Arrow's
// 53 MiB.
const maxSegmentBytes = 64 << 20

// References are the instructions of an image that refer to a variable or to some functions. Bytes that only look like
// a reference count as well: they are rare, and code that places a probe checks more.
type References struct {
	text     *Text
	variable string
	address  uint64              // of the variable; 0 if the image does not define it
	loads    []isa.Reference     // instructions that load the variable's value, or its address from the offset table
	callers  map[string]int      // by a function's name: how many calls and jumps to it are outside of it
	calls    map[string][]uint64 // by a function's name: their addresses, at most maxCalls+1
	slots    map[uint64]string   // by address of a pointer in the global offset table: its symbol
	stubs    map[uint64]string   // by address of a function, or of a stub in the PLT: its symbol
	bodies   map[string]elffile.Span
	taken    map[uint64]string // by address of an instruction: the function whose address it takes or loads
}

// Refer searches the machine code for references to the variable and the functions. These must be among the image's
// symbols.
func (t *Text) Refer(variable string, functions ...string) *References {
	img := t.image
	r := &References{
		text: t, variable: variable, address: img.Symbols[variable].Value,
		callers: map[string]int{}, calls: map[string][]uint64{},
		slots: img.OffsetTable(append([]string{variable}, functions...)),
		stubs: map[uint64]string{}, bodies: map[string]elffile.Span{}, taken: map[uint64]string{},
	}
	for _, name := range functions {
		if fn, ok := img.Function(name); ok {
			r.stubs[fn.Value] = name
			r.bodies[name] = elffile.Span{Start: fn.Value, End: fn.Value + max(fn.Size, 1)}
		}
	}
	t.stubs(func(at uint64) {
		if pointer, ok := t.stub(at, 0); ok {
			if to, ok := r.slots[pointer]; ok {
				r.stubs[at] = to
			}
		}
	})
	room := uint64(maxSegmentBytes)
	for _, s := range img.Segments() {
		if s.Exec && s.Size <= room {
			room -= s.Size
			r.scan(s.Vaddr, img.Contents(s))
		}
	}
	return r
}

// scan searches a segment.
func (r *References) scan(vaddr uint64, data []byte) {
	r.text.arch.Scan(vaddr, data, func(at isa.Reference) bool {
		switch at.Kind {
		case isa.Calls:
			r.addCall(at.At, r.stubs[at.To])
		case isa.Through:
			r.addCall(at.At, r.slots[at.To])
		case isa.Loads, isa.Takes:
			ofVariable := at.To == r.address || r.slots[at.To] == r.variable
			if r.address != 0 && ofVariable && len(r.loads) < maxLoads {
				r.loads = append(r.loads, at)
			}
			r.addTaken(at.At, cmp.Or(r.slots[at.To], r.stubs[at.To]))
		}
		return true
	})
}

// addCall counts a call or jump to a function, unless it is inside that function or in the PLT.
func (r *References) addCall(at uint64, name string) {
	if name == "" || r.bodies[name].Contains(at) || r.text.image.InPLT(at) {
		return
	}
	r.callers[name]++
	if len(r.calls[name]) <= maxCalls {
		r.calls[name] = append(r.calls[name], at)
	}
}

// addTaken keeps an instruction that takes or loads a function's address. Beyond maxTaken it keeps none: see takes.
func (r *References) addTaken(at uint64, name string) {
	if name != "" && len(r.taken) < maxTaken {
		r.taken[at] = name
	}
}

// takes reports whether an instruction may take or load a function's address. Once too many instructions do, it is true
// for all.
func (r *References) takes(at uint64, name string) bool {
	return r.taken[at] == name || len(r.taken) == maxTaken
}

// Callers returns the number of calls and jumps to a function from outside it.
func (r *References) Callers(name string) int { return r.callers[name] }

// Calls returns the addresses of the calls and jumps to a function from outside it. ok is false if there are too many.
func (r *References) Calls(name string) (addrs []uint64, ok bool) {
	return r.calls[name], len(r.calls[name]) <= maxCalls
}

// Passing returns the calls of the given functions that pass the variable's value as first argument: a map from a
// call's address to the called function's name. It follows the value from each instruction that loads it, and may miss
// calls.
func (r *References) Passing(functions []string) map[uint64]string {
	calls := map[uint64]string{}
	for _, load := range r.loads {
		r.follow(load, functions, calls)
	}
	return calls
}

// walk is a position on a path from a load of the variable.
type walk struct {
	addr    uint64
	value   locations // the registers that hold the variable's value
	pointer locations // the registers that hold the variable's address
	left    int       // how many more instructions are followed
}

// Limits of the walks from one load of the variable.
const (
	maxSteps = 8 * maxToCall // instructions of all walks together
	maxWalks = 8             // walks that wait at once, one for each branch
)

// follow adds to calls the calls that are reached from one load.
func (r *References) follow(load isa.Reference, functions []string, calls map[uint64]string) {
	queue := []walk{{addr: load.At, left: maxToCall}}
	for steps := 0; len(queue) > 0 && steps < maxSteps; steps++ {
		w := &queue[len(queue)-1]
		in, ok := r.text.decode(w.addr)
		if w.left--; !ok || w.left < 0 || in.Kind == isa.Return || in.Kind == isa.Trap {
			queue = queue[:len(queue)-1]
			continue
		}
		target, direct := in.Target()
		if in.Kind == isa.Call || in.Kind == isa.Jump {
			passesValue := w.value&general(r.text.arch.Arguments[0]) != 0
			if to := r.called(&in); passesValue && slices.Contains(functions, to) {
				calls[w.addr] = to
			}
			if in.Kind == isa.Call || !direct {
				queue = queue[:len(queue)-1]
				continue
			}
			w.addr = target
			continue
		}
		if in.Kind != isa.Branch {
			w.step(&in, r, load)
		}
		w.addr = in.End()
		if in.Kind == isa.Branch && direct && len(queue) < maxWalks {
			other := *w
			other.addr = target
			queue = append(queue, other)
		} else if w.value|w.pointer == 0 {
			queue = queue[:len(queue)-1]
		}
	}
}

// step updates the walk's registers for one instruction. first is the load at which the walk began.
func (w *walk) step(in *isa.Instruction, r *References, first isa.Reference) {
	if !in.Plain {
		w.value, w.pointer = 0, 0
		return
	}
	to := general(in.Writes) | locations(in.Also)
	value, pointer := false, false // what the instruction puts into the registers that it writes
	if from := &in.Operands[1]; in.Kind == isa.Move || in.Kind == isa.Address {
		move, at := in.Kind == isa.Move, uint64(from.Value)
		if in.Addr == first.At {
			at = first.To
		}
		switch {
		case in.Addr == first.At, from.Relative() && from.Index == isa.None:
			value = move && at == r.address
			pointer = !move && at == r.address || move && r.slots[at] == r.variable
		case from.Memory():
			value = move && at == 0 && from.Index == isa.None && w.pointer&general(from.Base) != 0
		case from.Kind == isa.InRegister:
			value, pointer = w.value&general(from.Base) != 0, w.pointer&general(from.Base) != 0
		}
	}
	w.value, w.pointer = w.value&^to, w.pointer&^to
	if value {
		w.value |= to
	}
	if pointer {
		w.pointer |= to
	}
}

// called returns the name of the function that a call or jump reaches, if it is one that [Text.Refer] was asked for;
// else "".
func (r *References) called(in *isa.Instruction) string {
	if pointer, ok := in.Through(); ok {
		return r.slots[pointer]
	}
	if target, ok := in.Target(); ok {
		return r.stubs[target]
	}
	return ""
}

// Passed returns the first two arguments of a call. An argument is 0 unless the code before the call shows that it is a
// certain constant or address. ok is false if the start of the function around the call is not known, or is too far
// away.
func (t *Text) Passed(call uint64) (first, second uint64, ok bool) {
	body, ok := t.image.Fragment(call)
	if !ok || call-body.Start > maxFragment {
		return 0, 0, false
	}
	var held isa.Addresses
	for at := body.Start; at < call; {
		in, ok := t.decode(at)
		if !ok {
			return 0, 0, true
		}
		value := uint64(0)
		switch from := &in.Operands[1]; {
		case in.Kind == isa.Address:
			value, _ = held.Of(from)
		case in.Kind == isa.Move && from.Kind == isa.Constant:
			value = uint64(from.Value)
		}
		held.Step(&in, t.arch.Clobbered)
		switch arguments := t.arch.Arguments; {
		case in.Kind == isa.Call:
			first, second = 0, 0
		case !in.Plain || in.Jumps():
		case in.Writes == arguments[0]:
			first = value
		case in.Writes == arguments[1]:
			second = value
		case in.Also&arguments[0].Set() != 0:
			first = 0
		case in.Also&arguments[1].Set() != 0:
			second = 0
		}
		if at = in.End(); at == call {
			return first, second, true
		}
	}
	return 0, 0, true
}

// callsOf returns the addresses of the instructions in code that may call or jump to one of the places, call or jump
// through one of the pointers, or load one of the pointers for a later call. ok is false if there are more than limit.
func (t *Text) callsOf(
	vaddr uint64, code []byte, places, pointers map[uint64]bool, limit int,
) (addrs []uint64, ok bool) {
	boundedPlaces, boundedPointers := bounded(places), bounded(pointers)
	ok = true
	t.arch.Scan(vaddr, code, func(r isa.Reference) bool {
		found := false
		switch r.Kind {
		case isa.Calls, isa.Branches:
			found = boundedPlaces.has(r.To)
		case isa.Through, isa.Loads:
			found = boundedPointers.has(r.To)
		}
		if found {
			ok = len(addrs) < limit
			addrs = append(addrs, r.At)
		}
		return ok
	})
	if !ok {
		return nil, false
	}
	return addrs, true
}

// targets is a set of addresses, with its first and its last. A comparison with these two rules out nearly all other
// addresses without a look into the map.
type targets struct {
	addrs       map[uint64]bool
	first, last uint64
}

func bounded(addrs map[uint64]bool) targets {
	t := targets{addrs: addrs, first: math.MaxUint64}
	for at := range addrs {
		t.first, t.last = min(t.first, at), max(t.last, at)
	}
	return t
}

func (t *targets) has(at uint64) bool { return at >= t.first && at <= t.last && t.addrs[at] }
