package machine

import (
	"encoding/binary"
	"math"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"ipytracer/tracer/code/elffile"
)

// Bounds on what is followed from a load, in instructions, and on how many calls of a function are kept.
const (
	maxToCall = 24
	maxCalls  = 1 << 12
)

// maxSegmentBytes bounds the segments that are looked through, each, or all of a file's: NumPy's have 10 MiB.
const maxSegmentBytes = 256 << 20

// References is who refers to a variable and to some functions of an image. Bytes that only look like a reference are rare enough for a
// count; whoever places a probe checks more.
type References struct {
	text     *Text
	variable string
	address  uint64              // of the variable; 0 where the image does not define it
	loads    []uint64            // instructions that load the variable's value, or its address from the global offset table
	callers  map[string]int      // calls and jumps to a function from outside it, by its name
	calls    map[string][]uint64 // where they are, up to one more than maxCalls of each
	slots    map[uint64]string   // the global offset table: which symbol each pointer is for
	stubs    map[uint64]string   // the same for places in the PLT
	bodies   map[string]elffile.Span
}

// Refer looks through the machine code for who refers to the variable and the functions, which must be among the image's symbols.
func (t *Text) Refer(variable string, functions ...string) *References {
	img := t.image
	r := &References{
		text: t, variable: variable, address: img.Symbols[variable].Value, callers: map[string]int{}, calls: map[string][]uint64{},
		slots: img.OffsetTable(append([]string{variable}, functions...)), stubs: map[uint64]string{}, bodies: map[string]elffile.Span{},
	}
	for _, name := range functions {
		if fn, ok := img.Function(name); ok {
			r.stubs[fn.Value] = name
			r.bodies[name] = elffile.Span{Start: fn.Value, End: fn.Value + max(fn.Size, 1)}
		}
	}
	t.stubs(func(at uint64) {
		if pointer, ok := t.stub(at, 2); ok {
			if to, ok := r.slots[pointer]; ok {
				r.stubs[at] = to
			}
		}
	})
	for _, s := range img.Segments() {
		if s.Exec && s.Size <= maxSegmentBytes {
			r.scan(s.Vaddr, img.Contents(s))
		}
	}
	return r
}

// scan looks through a segment.
func (r *References) scan(vaddr uint64, data []byte) {
	for i := 0; i+7 <= len(data); i++ {
		at := vaddr + uint64(i)
		switch c := data[i]; {
		case c == 0xe8 || c == 0xe9:
			r.count(at, r.stubs[relative(at, data[i:], 5)])
		case c == 0xff && (data[i+1] == 0x15 || data[i+1] == 0x25):
			r.count(at, r.slots[relative(at, data[i:], 6)])
		case (c == 0x48 || c == 0x4c) && (data[i+1] == 0x8b || data[i+1] == 0x8d) && data[i+2]&0xc7 == 0x05: // mov, lea of [rip + x]
			if to := relative(at, data[i:], 7); r.address != 0 && (to == r.address || r.slots[to] == r.variable) {
				r.loads = append(r.loads, at)
			}
		}
	}
}

// relative is where an instruction of so many bytes refers to whose last four are a displacement.
func relative(at uint64, code []byte, size int) uint64 {
	return at + uint64(size) + uint64(int64(int32(binary.LittleEndian.Uint32(code[size-4:]))))
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

// Callers is how many calls and jumps there are to a function from outside it.
func (r *References) Callers(name string) int { return r.callers[name] }

// Calls are where they are. ok is false where there are too many to look at.
func (r *References) Calls(name string) (addrs []uint64, ok bool) {
	return r.calls[name], len(r.calls[name]) <= maxCalls
}

// Passing returns the calls of functions, of those that were asked for, whose first argument is the variable's value, as far as that is
// seen by following it from where it is loaded. By the call's address: the function's name.
func (r *References) Passing(functions []string) map[uint64]string {
	calls := map[uint64]string{}
	for _, load := range r.loads {
		r.follow(load, functions, calls)
	}
	return calls
}

// walk is somewhere on the way from a load, with the registers that hold the variable's value and its address there.
type walk struct {
	addr          uint64
	value, addrOf locations
	left          int
}

// follow adds the calls that are reached from one load.
func (r *References) follow(load uint64, functions []string, calls map[uint64]string) {
	queue := []walk{{addr: load, left: maxToCall}}
	for steps := 0; len(queue) > 0 && steps < 8*maxToCall; steps++ {
		w := &queue[len(queue)-1]
		in, ok := r.text.decode(w.addr)
		if w.left--; !ok || w.left < 0 || in.returns() || in.traps() {
			queue = queue[:len(queue)-1]
			continue
		}
		target, direct := in.target()
		if in.calls() || in.goesAway() {
			if to := r.called(&in); slices.Contains(functions, to) && w.value&general(argumentRegisters[0]) != 0 {
				calls[w.addr] = to
			}
			if in.calls() || !direct {
				queue = queue[:len(queue)-1]
				continue
			}
			w.addr = target
			continue
		}
		if !in.conditional() {
			w.load(&in, r)
		}
		w.addr = in.end()
		if in.conditional() && direct && len(queue) < 8 {
			other := *w
			other.addr = target
			queue = append(queue, other)
		} else if w.value|w.addrOf == 0 {
			queue = queue[:len(queue)-1]
		}
	}
}

// load follows what an instruction does to the registers.
func (w *walk) load(in *instruction, r *References) {
	reg, known := in.writes()
	if !known || in.Op == x86asm.XCHG {
		w.value, w.addrOf = 0, 0
		return
	}
	to := general(reg)
	value, addrOf := false, false
	if in.Op == x86asm.MOV || in.Op == x86asm.LEA {
		switch from := in.Args[1].(type) {
		case x86asm.Mem:
			at := in.end() + uint64(from.Disp)
			relative := from.Base == x86asm.RIP && from.Index == 0
			value = in.Op == x86asm.MOV && (relative && at == r.address || from.Disp == 0 && from.Index == 0 && w.addrOf&general(from.Base) != 0)
			addrOf = relative && (in.Op == x86asm.LEA && at == r.address || in.Op == x86asm.MOV && r.slots[at] == r.variable)
		case x86asm.Reg:
			value, addrOf = w.value&general(from) != 0, w.addrOf&general(from) != 0
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

// called returns the name of the function that a call or jump is to, where it is one that is looked for.
func (r *References) called(in *instruction) string {
	if pointer, ok := in.through(); ok {
		return r.slots[pointer]
	}
	if target, ok := in.target(); ok {
		return r.stubs[target]
	}
	return ""
}

// Passed returns the constants and addresses that are the first two arguments of a call, as far as the code in front of it in its
// function says, 0 for others. ok is false where it cannot be said which code that is.
func (t *Text) Passed(call uint64) (first, second uint64, ok bool) {
	body, ok := t.image.Fragment(call)
	if !ok || call-body.Start > maxFragment {
		return 0, 0, false
	}
	for at := body.Start; at < call; {
		in, ok := t.decode(at)
		if !ok {
			return 0, 0, true
		}
		reg, known := in.writes()
		value := uint64(0)
		if in.Op == x86asm.LEA {
			if m, ok := in.Args[1].(x86asm.Mem); ok && m.Base == x86asm.RIP && m.Index == 0 {
				value = in.end() + uint64(m.Disp)
			}
		} else if imm, ok := in.Args[1].(x86asm.Imm); ok && in.Op == x86asm.MOV {
			value = uint64(imm)
		}
		switch {
		case in.calls():
			first, second = 0, 0
		case !known || in.jumps():
		case reg == argumentRegisters[0]:
			first = value
		case reg == argumentRegisters[1]:
			second = value
		}
		if at = in.end(); at == call {
			return first, second, true
		}
	}
	return 0, 0, true
}

// callsOf returns the places in some code that may call or jump to one of some places, or through one of some pointers, or load such a
// pointer to call through it later. ok is false where there are more than limit.
func callsOf(vaddr uint64, code []byte, direct, indirect map[uint64]bool, limit int) (addrs []uint64, ok bool) {
	directly, indirectly := bounded(direct), bounded(indirect)
	refers := func(i, size int, to *targets) bool {
		return i+size <= len(code) && to.has(relative(vaddr+uint64(i), code[i:], size))
	}
	for i := 0; i+5 <= len(code); i++ {
		c := code[i]
		if !opens[c] {
			continue
		}
		found := false
		switch next := code[i+1]; {
		case c == 0xe8 || c == 0xe9:
			found = refers(i, 5, &directly)
		case c == 0x0f && next&0xf0 == 0x80: // a jump on a condition
			found = refers(i, 6, &directly)
		case c == 0xff && (next == 0x15 || next == 0x25):
			found = refers(i, 6, &indirectly)
		case (c == 0x48 || c == 0x4c) && next == 0x8b && code[i+2]&0xc7 == 0x05: // mov of [rip + x]
			found = refers(i, 7, &indirectly)
		}
		if found && len(addrs) == limit {
			return nil, false
		}
		if found {
			addrs = append(addrs, vaddr+uint64(i))
		}
	}
	return addrs, true
}

// opens are the bytes with which the instructions begin that [callsOf] looks for.
var opens = [256]bool{0xe8: true, 0xe9: true, 0x0f: true, 0xff: true, 0x48: true, 0x4c: true}

// targets are some addresses, and the first and the last of them: nearly all others are told from these by the two alone.
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
