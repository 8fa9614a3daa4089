package walk

import (
	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// lostCycles are the reference cycles that the garbage collector never frees, with all objects that they lead to. The
// collector takes an object for used if its reference count is higher than the number of references that the collector
// sees. So a cycle is lost if one of its own references is hidden, see [objects.Type.HiddenBefore]. (A hidden reference
// from outside the cycle goes with the object that has it.) Vertices are nodes, counted from first on.
type lostCycles struct {
	first     int32   // the first node without a root
	arcs      Arcs    // references between garbage, until back is there
	hidden    Arcs    // those that the collector does not see
	back      Graph   // arcs turned round
	on        []arc   // the hidden references that are on cycles, by cycle
	part      []int32 // by vertex: the cycle that keeps it, -1 for none
	described map[int32]*event.Lost
	names     map[*objects.Type]string // a variable for each type of object; nil until it is needed
}

// Bounds of the description of lost cycles.
const (
	MaxArcs     = 1 << 25 // references
	maxTold     = 256     // cycles of a process
	maxCuts     = 4       // objects of a cycle that hide a reference
	maxBehind   = 1 << 12 // objects that a search from such an object goes through
	maxReferred = 1 << 16 // references that such a search goes through
)

// cycle returns the number of the lost cycle that keeps a node, -1 for none.
func (lost *lostCycles) cycle(node int32) int32 {
	if lost == nil || node < lost.first || int(node-lost.first) >= len(lost.part) {
		return -1
	}
	return lost.part[node-lost.first]
}
