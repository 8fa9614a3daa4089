package machine

import (
	"cmp"
	"slices"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/isa"
)

// Routine is an analysed function: its control flow, and the values at each of its instructions.
type Routine struct {
	code  *Code
	entry uint64
	graph *graph
	track *tracking
}

// Call is a call in a [Routine], or a jump out of it.
type Call struct {
	Address uint64
	Import  string // the called function's name, if the call goes through the linkage table
	Target  uint64 // the called function's address in this file; 0 for a function of another file
	// Slot is for an indirect call: the offset of the function's pointer in its structure; -1 if the offset is unknown.
	Slot     int64
	Indirect bool // through a pointer to an unknown function
	Tail     bool // a jump, so the callee does not return to the routine
	node     int  // of the routine's graph
}

// Routine analyses the function that begins at an address. ok is false if its control flow or its stack is not
// certainly known, or if too much of the file has been analysed already (maxWork).
func (c *Code) Routine(entry uint64) (r *Routine, ok bool) {
	body, ok := c.image.Fragment(entry)
	if !ok || body.Start != entry || c.work > maxWork {
		return nil, false
	}
	f := newFlow(c.text, entry, body.End-body.Start)
	f.tails = func(target uint64) tail {
		switch {
		case c.image.InPLT(target):
			return tail{kind: tailReturns}
		case c.image.Executable(target):
			return tail{kind: tailFollow, at: target}
		}
		return tail{}
	}
	f.leaves = func(in *isa.Instruction) bool {
		_, register := in.ThroughRegister()
		return register || c.imported(in).Name != ""
	}
	f.limit = maxNodes + 1 // a larger function has no graph
	f.explore(entry)
	c.work += len(f.seen) + f.inCallees
	g, ok := newGraph(f, entry)
	if !ok {
		return nil, false
	}
	t, ok := track(g, c.image, maxWork-c.work)
	c.work += t.steps
	return &Routine{code: c, entry: entry, graph: g, track: t}, ok
}

// Entry is the address of the routine's first instruction.
func (r *Routine) Entry() uint64 { return r.entry }

// Has reports whether an address is one of the routine's instructions.
func (r *Routine) Has(addr uint64) bool {
	_, ok := slices.BinarySearchFunc(r.graph.nodes, addr, func(n node, addr uint64) int {
		return cmp.Compare(n.Addr, addr)
	})
	return ok
}

// Argument returns the routine's own argument i, from 0 to 5.
func (r *Routine) Argument(i int) Value {
	return r.track.terms.of(term{kind: termArgument, a: uint64(i)})
}

// Calls returns the routine's calls and its jumps out, in order of address.
func (r *Routine) Calls() (calls []Call) {
	for i := range r.graph.nodes {
		n := &r.graph.nodes[i]
		if n.Kind != isa.Call && n.Kind != isa.Jump || r.track.before[i] == nil {
			continue
		}
		c := Call{Address: n.Addr, Tail: n.Kind == isa.Jump, node: i}
		target, direct := n.Target()
		if direct && n.Kind == isa.Jump && !r.code.image.InPLT(target) {
			continue
		}
		to := r.code.imported(&n.Instruction)
		if to.Name == "" && !direct {
			to = r.importedInRegister(i)
		}
		switch {
		case to.Name != "":
			c.Import, c.Target = to.Name, to.Value
		case direct:
			c.Target = target
		default:
			c.Indirect = true
			if slot, ok := n.ThroughMember(); ok {
				c.Slot = slot
			} else {
				c.Slot = r.loadedFrom(i)
			}
		}
		calls = append(calls, c)
	}
	return calls
}

// importedInRegister returns the imported function that node i calls through a register. The register holds a pointer
// that the dynamic linker has filled in. The function has no name if it is not known.
func (r *Routine) importedInRegister(i int) (to elffile.Import) {
	reg, ok := r.graph.nodes[i].ThroughRegister()
	if !ok {
		return to
	}
	t, ok := r.track.terms.term(r.track.before[i].in(reg))
	if !ok || t.kind != termImport {
		return to
	}
	return r.code.image.Imports[t.a]
}

// loadedFrom looks back from node i, an indirect call through a register, for the instruction that loads the pointer
// from a structure. It returns the pointer's offset in the structure, or -1 if it finds none.
func (r *Routine) loadedFrom(i int) int64 {
	reg, ok := r.graph.nodes[i].ThroughRegister()
	if !ok {
		return -1
	}
	for range maxBetween {
		if len(r.graph.nodes[i].before) != 1 {
			return -1
		}
		i = r.graph.nodes[i].before[0]
		n := &r.graph.nodes[i]
		if n.Kind == isa.Call {
			return -1
		}
		if n.MayWrite(reg.Set()) {
			if slot, ok := n.LoadsMember(reg); ok {
				return slot
			}
			if n.Kind != isa.Move || !n.Operands[1].Whole() {
				return -1
			}
			reg = n.Operands[1].Base
		}
	}
	return -1
}

// Passed returns argument i of a call, from 0 to 5.
func (r *Routine) Passed(c Call, i int) Value {
	return r.track.before[c.node].in(r.graph.arch.Arguments[i])
}

// Result returns the result of a call.
func (r *Routine) Result(c Call) Value {
	return r.track.terms.of(term{kind: termResult, a: c.Address})
}

// Product returns the value that is the product of x and y. The routine has it where it multiplies them.
func (r *Routine) Product(x, y Value) Value { return r.track.terms.product(x, y) }

// Loaded returns the address in the file that a value was loaded from; ok is false for any other value.
func (r *Routine) Loaded(v Value) (addr uint64, ok bool) {
	t, ok := r.track.terms.term(v)
	return t.a, ok && t.kind == termLoad
}

// Address returns the value as an address in the file; ok is false for any other value.
func (r *Routine) Address(v Value) (addr uint64, ok bool) {
	t, ok := r.track.terms.term(v)
	return t.a, ok && t.kind == termAddress
}

// Constant returns the value as a number; ok is false for any other value.
func (r *Routine) Constant(v Value) (n uint64, ok bool) {
	t, ok := r.track.terms.term(v)
	return t.a, ok && t.kind == termConstant
}

// AtMost returns an upper bound of a value at a call. The bound comes from the comparisons on every way to the call.
func (r *Routine) AtMost(c Call, v Value) (n uint64, ok bool) {
	n, ok = r.track.before[c.node].atMost[v]
	return n, ok
}
