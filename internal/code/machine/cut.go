package machine

import (
	"math"

	"ipytracer/internal/code/isa"
)

// Costs of a hit, and how much more often the ordinary way is gone than a failing or cold one. Only the order
// that follows from them matters.
const (
	emulatedCost = 1
	steppedCost  = 30
	ordinary     = 100
	// conditionCost makes a site without a condition the better one of two.
	conditionCost = 1
	unlimited     = math.MaxInt32
)

// cut divides a graph in two, so that every way from the entry to a return crosses from the one part into the
// other once and never comes back, at the least cost. It is a minimum cut, in which each node has an entrance
// (2i) and an exit (2i+1), no edge may be crossed backwards, and a node or an edge may be cut where a site can
// be.
type cut struct {
	edges []arc
	// incident lists the arcs that start at each end, by index in edges; arc i^1 is the reverse of arc i.
	incident [][]int32
	sink     int
}

// arc is a directed connection of two ends with the capacity that is left.
type arc struct{ to, room int32 }

// newCut prepares the cut of a graph with known results.
func newCut(g *graph) *cut {
	c := &cut{sink: 2 * len(g.nodes)}
	c.incident = make([][]int32, c.sink+1)
	for i := range g.nodes {
		n := &g.nodes[i]
		c.link(2*i, 2*i+1, g.nodeCost(i))
		if n.exit != 0 {
			c.link(2*i+1, c.sink, unlimited)
		}
		if n.straight != none {
			c.link(2*i+1, 2*n.straight, g.edgeCost(n, n.straight))
		}
		if n.taken != none {
			c.link(2*i+1, 2*n.taken, g.edgeCost(n, n.taken))
		}
	}
	return c
}

func (c *cut) link(from, to int, cost int32) {
	c.incident[from] = append(c.incident[from], int32(len(c.edges)))
	c.incident[to] = append(c.incident[to], int32(len(c.edges)+1))
	c.edges = append(c.edges, arc{int32(to), cost}, arc{int32(from), unlimited})
}

// solve returns for each end whether it lies behind the cut. Of several cheapest cuts it is the last on the
// way. ok is false where there is none.
func (c *cut) solve(entry int) (behind []bool, ok bool) {
	for {
		path := c.path(2 * entry)
		if path == nil {
			break
		}
		least := int32(unlimited)
		for _, e := range path {
			least = min(least, c.edges[e].room)
		}
		if least == unlimited {
			return nil, false
		}
		for _, e := range path {
			c.edges[e].fill(least)
			c.edges[e^1].fill(-least)
		}
	}
	behind = make([]bool, len(c.incident))
	behind[c.sink] = true
	for queue := []int{c.sink}; len(queue) > 0; {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, e := range c.incident[at] {
			if from := int(c.edges[e].to); c.edges[e^1].room > 0 && !behind[from] {
				behind[from] = true
				queue = append(queue, from)
			}
		}
	}
	return behind, true
}

func (a *arc) fill(n int32) {
	if a.room != unlimited {
		a.room -= n
	}
}

// path returns a shortest way with room from start to the sink, as arcs from its end, or nil.
func (c *cut) path(start int) (arcs []int32) {
	by := make([]int32, len(c.incident)) // 1 + the arc an end was reached by
	for queue := []int{start}; len(queue) > 0 && by[c.sink] == 0; queue = queue[1:] {
		for _, e := range c.incident[queue[0]] {
			if to := int(c.edges[e].to); c.edges[e].room > 0 && by[to] == 0 && to != start {
				by[to] = e + 1
				queue = append(queue, to)
			}
		}
	}
	if by[c.sink] == 0 {
		return nil
	}
	for at := c.sink; at != start; {
		e := by[at] - 1
		arcs = append(arcs, e)
		at = int(c.edges[e^1].to)
	}
	return arcs
}

// nodeCost returns the cost of a site at a node, unlimited where it cannot be one.
func (g *graph) nodeCost(i int) int32 {
	n := &g.nodes[i]
	_, known := g.resultRegister(n.result)
	switch {
	case n.refused:
	case n.Kind == isa.Return && !n.Emulated:
		return steppedCost * g.frequency(i)
	case n.Emulated && known && n.stack.pushed >= 0:
		return emulatedCost * g.frequency(i)
	case g.refuses && known && n.stack.pushed >= 0:
		return steppedCost * g.frequency(i)
	}
	return unlimited
}

// edgeCost returns the cost of a site that counts only where a conditional jump goes a certain way.
func (g *graph) edgeCost(n *node, to int) int32 {
	_, known := g.resultRegister(g.nodes[to].result)
	if !n.HasCondition || !known || !n.Emulated || n.straight == n.taken || n.stack.pushed < 0 {
		return unlimited
	}
	if n.cold {
		return emulatedCost + conditionCost
	}
	return emulatedCost*ordinary + conditionCost
}

// frequency guesses how often a node runs: seldom where the function has failed, or the compiler moved it out
// of the way.
func (g *graph) frequency(i int) int32 {
	if g.nodes[i].cold {
		return 1
	}
	for range g.nodes { // back along the only way here
		n := &g.nodes[i]
		if n.result&zero != 0 {
			return 1
		}
		if len(n.before) != 1 {
			break
		}
		i = n.before[0]
	}
	return ordinary
}
