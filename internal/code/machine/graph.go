package machine

import (
	"maps"
	"slices"

	"ipytracer/internal/code/isa"
)

// graph is a function's control flow, instruction by instruction, as far as it leads to a return.
type graph struct {
	nodes []node // in order of address
	entry int
	slots slotTable
	arch  *isa.Architecture
	// refuses reports that a ret takes no probe: sites have to be in front of it, and may be dear there.
	refuses bool
}

// node is an instruction of a graph.
type node struct {
	isa.Instruction
	stack stack // before the instruction
	// refused: it takes no probe.
	refused bool
	cold    bool // outside the function's own range: the compiler takes it for rarely run
	// straight and taken are the nodes that come next, the latter where the instruction jumps; none where there
	// is no such way, or it leads to no return.
	straight, taken int
	before          []int
	result          locations // each holds, before the instruction, the function's later result
	exit            locations // the same where the function is left, 0 elsewhere
}

const none = -1

// maxNodes bounds the functions that get a graph; PyEval_EvalCode has 10 to 160 instructions.
const maxNodes = 1024

// next calls f with each node that may come after n.
func (n *node) next(f func(int)) {
	if n.straight != none {
		f(n.straight)
	}
	if n.taken != none {
		f(n.taken)
	}
}

// newGraph makes the graph of a function. ok is false where the flow is not known well enough: the function
// may be left otherwise than by its returns, or the stack pointer is in doubt anywhere.
func newGraph(f *flow, entry uint64) (g *graph, ok bool) {
	if !f.complete || !f.level || len(f.seen) > maxNodes {
		return nil, false
	}
	keep := f.returning()
	addresses := slices.Sorted(maps.Keys(keep))
	arch := f.code.arch
	g = &graph{entry: none, arch: arch, slots: newSlotTable(arch)}
	index := make(map[uint64]int, len(addresses))
	for i, addr := range addresses {
		index[addr] = i
		if addr == entry {
			g.entry = i
		}
	}
	find := func(addr uint64, ok bool) int {
		if i, kept := index[addr]; ok && kept {
			return i
		}
		return none
	}
	for _, addr := range addresses {
		in, _ := f.code.decode(addr)
		n := node{Instruction: in, stack: f.seen[addr], cold: !f.body.Contains(addr), refused: f.code.refuses(&in)}
		g.refuses = g.refuses || n.refused && in.Kind == isa.Return
		n.straight, n.taken, n.exit = find(in.End(), in.GoesOn()), none, f.exits[addr]
		if in.Kind == isa.Return {
			n.exit = g.returned()
		}
		if in.Jumps() {
			n.taken = find(f.target(&in))
		}
		g.nodes = append(g.nodes, n)
	}
	for i := range g.nodes {
		g.nodes[i].next(func(j int) { g.nodes[j].before = append(g.nodes[j].before, i) })
	}
	return g, g.entry != none
}

// returning returns the instructions of a flow from which a return can be reached.
func (f *flow) returning() map[uint64]bool {
	before := make(map[uint64][]uint64)
	for addr := range f.seen {
		in, _ := f.code.decode(addr)
		if in.GoesOn() {
			before[in.End()] = append(before[in.End()], addr)
		}
		if target, ok := f.target(&in); ok && in.Jumps() {
			before[target] = append(before[target], addr)
		}
	}
	keep := make(map[uint64]bool)
	for queue := slices.Clone(f.returns); len(queue) > 0; {
		addr := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if _, seen := f.seen[addr]; seen && !keep[addr] {
			keep[addr] = true
			queue = append(queue, before[addr]...)
		}
	}
	return keep
}
