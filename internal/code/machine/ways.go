package machine

import "slices"

// Limits are upper limits of some values. A value at or below its limit is of no interest.
type Limits map[Value]uint64

// Passes reports whether every way from the routine's entry to where it is left leads through one of some calls. Ways
// on which a comparison shows that a value is at most its limit do not count.
func (r *Routine) Passes(calls []Call, apart Limits) bool {
	passed := make([]bool, len(r.graph.nodes))
	for _, c := range calls {
		passed[c.node] = true
	}
	for i, reached := range r.reached(passed, apart) {
		if reached && r.graph.nodes[i].leaves() {
			return false
		}
	}
	return true
}

// reached returns for each node whether it is reached from the entry otherwise than through some nodes, or on a way
// that does not count.
func (r *Routine) reached(without []bool, apart Limits) []bool {
	reached := make([]bool, len(r.graph.nodes))
	queue := []int{r.graph.entry}
	for len(queue) > 0 {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if i == none || reached[i] || without[i] {
			continue
		}
		reached[i] = true
		straight, taken := r.onward(i, apart)
		queue = append(queue, straight, taken)
	}
	return reached
}

// onward are the nodes behind one, but for ways that do not count.
func (r *Routine) onward(i int, apart Limits) (straight, taken int) {
	n := &r.graph.nodes[i]
	straight, taken = n.straight, n.taken
	within := func(limits []limit) bool {
		return slices.ContainsFunc(limits, func(l limit) bool {
			most, known := apart[l.value]
			return known && l.most <= most
		})
	}
	b := r.track.bound(i)
	if within(b.straight) {
		straight = none
	}
	if within(b.taken) {
		taken = none
	}
	return straight, taken
}

// leaves reports whether the routine is left where the instruction is: by a return, or by a jump to a function. Nodes
// that lead to no return are not in the graph.
func (n *node) leaves() bool { return n.straight == none && n.taken == none }
