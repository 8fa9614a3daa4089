package machine

import "slices"

// Limits are upper limits of some values. A path on which a comparison shows that a value is at most its limit does not
// count.
type Limits map[Value]uint64

// Passes reports whether every path from the routine's entry to an exit leads through one of the calls. Paths that
// apart excludes do not count.
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

// reached returns for each node whether a path from the entry leads there that avoids the nodes in without and that
// counts (apart).
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

// onward returns the nodes that come next after node i, none for a branch that does not count.
func (r *Routine) onward(i int, apart Limits) (straight, taken int) {
	n := &r.graph.nodes[i]
	straight, taken = n.straight, n.taken
	excluded := func(limits []limit) bool {
		return slices.ContainsFunc(limits, func(l limit) bool {
			most, known := apart[l.value]
			return known && l.most <= most
		})
	}
	b := r.track.bound(i)
	if excluded(b.straight) {
		straight = none
	}
	if excluded(b.taken) {
		taken = none
	}
	return straight, taken
}

// leaves reports whether the routine is left at n, by a return or by a jump to a function. A node without a successor
// is an exit, because the graph has no nodes that lead to no return.
func (n *node) leaves() bool { return n.straight == none && n.taken == none }
