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
	// refuses is true if some ret takes no probe. Sites must then lie before the ret, even at costly instructions.
	refuses bool
}

// node is an instruction of a graph.
type node struct {
	isa.Instruction
	stack   stack // before the instruction
	refused bool  // the instruction takes no probe
	cold    bool  // outside the function's own range: the compiler expects it to run rarely
	// straight is the next node in order of address, taken the node that a jump leads to. Each is none if control
	// cannot go there, or cannot come from there to a return.
	straight, taken int
	before          []int     // the nodes that control may come from
	result          locations // the locations that hold the function's later result, before the instruction
	exit            locations // the locations of the result if the function is left here; else 0
}

const none = -1

// maxNodes is the size of the largest function that gets a graph. PyEval_EvalCode has 10 to 160 instructions.
const maxNodes = 1024

// next calls f with the index of each node that may come after n.
func (n *node) next(f func(int)) {
	if n.straight != none {
		f(n.straight)
	}
	if n.taken != none {
		f(n.taken)
	}
}

// newGraph makes the graph of a function. ok is false if the function is too large, may be left in another way than
// by its returns, or has a place at which the stack pointer is not certain.
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
	nodeAt := func(addr uint64, reachable bool) int {
		if i, kept := index[addr]; reachable && kept {
			return i
		}
		return none
	}
	for _, addr := range addresses {
		in, _ := f.code.decode(addr)
		n := node{Instruction: in, stack: f.seen[addr], cold: !f.body.Contains(addr), refused: f.code.refuses(&in)}
		g.refuses = g.refuses || n.refused && in.Kind == isa.Return
		n.straight, n.taken, n.exit = nodeAt(in.End(), in.GoesOn()), none, f.exits[addr]
		if in.Kind == isa.Return {
			n.exit = g.returned()
		}
		if in.Jumps() {
			n.taken = nodeAt(f.target(&in))
		}
		g.nodes = append(g.nodes, n)
	}
	for i := range g.nodes {
		g.nodes[i].next(func(j int) { g.nodes[j].before = append(g.nodes[j].before, i) })
	}
	return g, g.entry != none
}

// returning returns the addresses of the instructions from which a return can be reached.
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
