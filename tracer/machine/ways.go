package machine

// Limits are what some values are at most, each. A value at or below its limit is of no interest.
type Limits map[Value]uint64

// Passes reports whether every way from the routine's entry to where it is left leads through one of some calls. Ways on which a
// comparison shows that a value is at most its limit do not count.
func (r *Routine) Passes(calls []Call, apart Limits) bool {
	passed := make([]bool, len(r.graph.nodes))
	for _, c := range calls {
		passed[c.node] = true
	}
	reached := make([]bool, len(r.graph.nodes))
	queue := []int{r.graph.entry}
	for len(queue) > 0 {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if i == none || reached[i] || passed[i] {
			continue
		}
		reached[i] = true
		n := &r.graph.nodes[i]
		if n.leaves() {
			return false
		}
		straight, taken := n.straight, n.taken
		if b, ok := r.track.bound(i); ok {
			if limit, known := apart[b.value]; known && b.straight <= limit {
				straight = none
			}
			if limit, known := apart[b.value]; known && b.taken <= limit {
				taken = none
			}
		}
		queue = append(queue, straight, taken)
	}
	return true
}

// leaves reports whether the routine is left where the instruction is: by a return, or by a jump to a function. Nodes that lead to no
// return are not in the graph.
func (n *node) leaves() bool { return n.straight == none && n.taken == none }
