package paths

import (
	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// lostCycles are the objects of cycles that the collector does not see, and those that only they lead to. It takes an
// object for one in use if it does not see a reference to it that its reference count has. So a cycle is lost where one
// of its references is hidden, see [objects.Type.HiddenBefore]: its objects stay for good, and with them everything
// that they hold. Where only a reference from outside is hidden, that one goes with the object that has it.
type lostCycles struct {
	first     int32 // the number of the first node without a root
	arcs      Arcs
	hidden    Arcs
	back      Graph   // arcs turned round, of nodes from first on
	on        []arc   // those that make cycles lost, each from an object that hides it
	part      []int32 // the cycle that has each node lost, -1 for none
	described map[int32]*event.Lost
	names     map[*objects.Type]string // of variables, by the types of their objects; nil until it is asked for
}

// Bounds of the description of lost cycles.
const (
	MaxArcs     = 1 << 25 // references
	maxTold     = 256     // cycles of a process
	maxCuts     = 4       // objects of a cycle that hide a reference of it
	maxBehind   = 1 << 12 // objects that are gone through from each of these
	maxReferred = 1 << 16 // references that are gone through from each
)

// cycle returns the number of the cycle that has a node lost, -1 for none.
func (lost *lostCycles) cycle(node int32) int32 {
	if lost == nil || node < lost.first || int(node-lost.first) >= len(lost.part) {
		return -1
	}
	return lost.part[node-lost.first]
}
