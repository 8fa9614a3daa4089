package machine

import (
	"cmp"
	"math"
	"slices"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/isa"
)

// Bounds on the instructions that are followed from a load. Also bounds on what is kept of a function: its calls, and
// the places that take its address.
const (
	maxToCall = 24
	maxCalls  = 1 << 12
	maxTaken  = 1 << 16
	maxLoads  = 1 << 14 // loads of the variable that are followed
)

// maxSegmentBytes bounds the segments of a file that are looked through, together: NumPy's have 10 MiB, Arrow's 53.
const maxSegmentBytes = 64 << 20

// References are the places that refer to a variable and to some functions of an image. Bytes that only look like a
// reference are rare enough to count all the same. Code that places a probe checks more.
type References struct {
	text     *Text
	variable string
	address  uint64              // of the variable; 0 where the image does not define it
	loads    []isa.Reference     // instructions that load its value, or its address from the global offset table
	callers  map[string]int      // calls and jumps to a function from outside it, by its name
	calls    map[string][]uint64 // the places of these, for each function up to one more than maxCalls
	slots    map[uint64]string   // the global offset table: the symbol of each pointer
	stubs    map[uint64]string   // the symbol of each place in the PLT
	bodies   map[string]elffile.Span
	taken    map[uint64]string // instructions that take or load a function's address
}

// Refer looks through the machine code for references to the variable and the functions, which must be among the
// image's symbols.
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

// scan looks through a segment.
func (r *References) scan(vaddr uint64, data []byte) {
	r.text.arch.Scan(vaddr, data, func(at isa.Reference) bool {
		switch at.Kind {
		case isa.Calls:
			r.count(at.At, r.stubs[at.To])
		case isa.Through:
			r.count(at.At, r.slots[at.To])
		case isa.Loads, isa.Takes:
			if r.address != 0 && (at.To == r.address || r.slots[at.To] == r.variable) && len(r.loads) < maxLoads {
				r.loads = append(r.loads, at)
			}
			r.take(at.At, cmp.Or(r.slots[at.To], r.stubs[at.To]))
		}
		return true
	})
}

func (r *References) count(at uint64, name string) {
	if name == "" || r.bodies[name].Contains(at) || r.text.image.InPLT(at) {
		return
	}
	r.callers[name]++
	if len(r.calls[name]) <= maxCalls {
		r.calls[name] = append(r.calls[name], at)
	}
}

// take keeps the places where a function's address is taken or loaded. If there are too many places, they count as one.
func (r *References) take(at uint64, name string) {
	if name != "" && len(r.taken) < maxTaken {
		r.taken[at] = name
	}
}

// takes reports whether an instruction takes or loads a function's address.
func (r *References) takes(at uint64, name string) bool {
	return r.taken[at] == name || len(r.taken) == maxTaken
}

// Callers returns the number of calls and jumps to a function from outside it.
func (r *References) Callers(name string) int { return r.callers[name] }

// Calls returns the places of the calls and jumps to a function from outside it. ok is false where there are too many
// to look at.
func (r *References) Calls(name string) (addrs []uint64, ok bool) {
	return r.calls[name], len(r.calls[name]) <= maxCalls
}

// Passing returns calls with the variable's value as first argument: the called function's name, by the call's address.
// It returns only calls of the given functions. It follows the value from where it is loaded, and may not see all
// calls.
func (r *References) Passing(functions []string) map[uint64]string {
	calls := map[uint64]string{}
	for _, load := range r.loads {
		r.follow(load, functions, calls)
	}
	return calls
}

// walk is a place on the way from a load, with the registers that hold the variable's value and its address there.
type walk struct {
	addr          uint64
	value, addrOf locations
	left          int
}

// follow adds the calls that are reached from one load.
func (r *References) follow(load isa.Reference, functions []string, calls map[uint64]string) {
	queue := []walk{{addr: load.At, left: maxToCall}}
	for steps := 0; len(queue) > 0 && steps < 8*maxToCall; steps++ {
		w := &queue[len(queue)-1]
		in, ok := r.text.decode(w.addr)
		if w.left--; !ok || w.left < 0 || in.Kind == isa.Return || in.Kind == isa.Trap {
			queue = queue[:len(queue)-1]
			continue
		}
		target, direct := in.Target()
		if in.Kind == isa.Call || in.Kind == isa.Jump {
			if to := r.called(&in); slices.Contains(functions, to) && w.value&general(r.text.arch.Arguments[0]) != 0 {
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
			w.load(&in, r, load)
		}
		w.addr = in.End()
		if in.Kind == isa.Branch && direct && len(queue) < 8 {
			other := *w
			other.addr = target
			queue = append(queue, other)
		} else if w.value|w.addrOf == 0 {
			queue = queue[:len(queue)-1]
		}
	}
}

// load follows an instruction's effect on the registers.
func (w *walk) load(in *isa.Instruction, r *References, first isa.Reference) {
	if !in.Plain {
		w.value, w.addrOf = 0, 0
		return
	}
	to := general(in.Writes) | locations(in.Also)
	value, addrOf := false, false
	if from := &in.Operands[1]; in.Kind == isa.Move || in.Kind == isa.Address {
		move, at := in.Kind == isa.Move, uint64(from.Value)
		if in.Addr == first.At {
			at = first.To
		}
		switch {
		case in.Addr == first.At, from.Relative() && from.Index == isa.None:
			value = move && at == r.address
			addrOf = !move && at == r.address || move && r.slots[at] == r.variable
		case from.Memory():
			value = move && at == 0 && from.Index == isa.None && w.addrOf&general(from.Base) != 0
		case from.Kind == isa.InRegister:
			value, addrOf = w.value&general(from.Base) != 0, w.addrOf&general(from.Base) != 0
		}
	}
	w.value, w.addrOf = w.value&^to, w.addrOf&^to
	if value {
		w.value |= to
	}
	if addrOf {
		w.addrOf |= to
	}
}

// called returns the name of the wanted function to which a call or jump leads; "" for none.
func (r *References) called(in *isa.Instruction) string {
	if pointer, ok := in.Through(); ok {
		return r.slots[pointer]
	}
	if target, ok := in.Target(); ok {
		return r.stubs[target]
	}
	return ""
}

// Passed returns the first two arguments of a call, if they are constants or addresses that the code in front of the
// call shows; 0 for any other. ok is false where the code in front of the call in its function is not known.
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

// callsOf returns the places in some code that may call or jump to one of some places, or through one of some pointers,
// or load such a pointer to call through it later. ok is false where there are more than limit.
func (t *Text) callsOf(
	vaddr uint64, code []byte, direct, indirect map[uint64]bool, limit int,
) (addrs []uint64, ok bool) {
	directly, indirectly := bounded(direct), bounded(indirect)
	ok = true
	t.arch.Scan(vaddr, code, func(r isa.Reference) bool {
		found := false
		switch r.Kind {
		case isa.Calls, isa.Branches:
			found = directly.has(r.To)
		case isa.Through, isa.Loads:
			found = indirectly.has(r.To)
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

// targets are some addresses, with the first and the last of them. These two alone rule out nearly all other addresses.
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
