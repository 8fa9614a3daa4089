package machine

import (
	"math"

	"ipytracer/internal/code/isa"
)

// The cost of a site is the cost of a hit times the frequency of hits. Only the order of the costs matters.
const (
	emulatedCost = 1   // of a hit, if Linux emulates the instruction
	steppedCost  = 30  // of a hit, if Linux steps the thread over a copy of the instruction
	ordinary     = 100 // the frequency of an ordinary path; a failing or cold one has 1
	// conditionCost makes a site without a condition the cheaper of two that are otherwise equal.
	conditionCost = 1
	unlimited     = math.MaxInt32 // the cost where no site can be
)

// cut finds the cheapest set of sites of which every path from a function's entry to a return passes exactly one,
// once. That is a minimum cut of a flow network. Each node of the function's graph is two vertices of the network: its
// entrance and its exit. The arc between them costs what a site at the node costs; an arc from an exit to an entrance
// costs what a site for that branch of a conditional jump costs. Backward arcs have unlimited capacity, so no path
// crosses the cut twice.
type cut struct {
	edges []arc
	// incident has the arcs that start at each vertex, as indices of edges. Arc i^1 is the reverse of arc i.
	incident [][]int32
	sink     int // the vertex behind all returns
}

// arc is a directed edge of the network, with the capacity that is left.
type arc struct{ to, room int32 }

// entranceOf and exitOf return the two vertices of a node.
func entranceOf(node int) int { return 2 * node }

func exitOf(node int) int { return 2*node + 1 }

// newCut makes the network of a graph whose results are known.
func newCut(g *graph) *cut {
	c := &cut{sink: 2 * len(g.nodes)}
	c.incident = make([][]int32, c.sink+1)
	for i := range g.nodes {
		n := &g.nodes[i]
		c.link(entranceOf(i), exitOf(i), g.nodeCost(i))
		if n.exit != 0 {
			c.link(exitOf(i), c.sink, unlimited)
		}
		if n.straight != none {
			c.link(exitOf(i), entranceOf(n.straight), g.edgeCost(n, n.straight))
		}
		if n.taken != none {
			c.link(exitOf(i), entranceOf(n.taken), g.edgeCost(n, n.taken))
		}
	}
	return c
}

func (c *cut) link(from, to int, cost int32) {
	c.incident[from] = append(c.incident[from], int32(len(c.edges)))
	c.incident[to] = append(c.incident[to], int32(len(c.edges)+1))
	c.edges = append(c.edges, arc{int32(to), cost}, arc{int32(from), unlimited})
}

// solve returns for each vertex whether it lies behind the cut. Of several cheapest cuts it takes the one nearest to
// the returns. ok is false if some path has no place for a site.
func (c *cut) solve(entry int) (behind []bool, ok bool) {
	for {
		path := c.path(entranceOf(entry))
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

// path returns a shortest path with capacity left, from start to the sink: its arcs, the last one first. It returns nil
// if there is none.
func (c *cut) path(start int) (arcs []int32) {
	arrival := make([]int32, len(c.incident)) // by vertex: 1 + the arc that it was reached by; 0: not reached
	for queue := []int{start}; len(queue) > 0 && arrival[c.sink] == 0; queue = queue[1:] {
		for _, e := range c.incident[queue[0]] {
			if to := int(c.edges[e].to); c.edges[e].room > 0 && arrival[to] == 0 && to != start {
				arrival[to] = e + 1
				queue = append(queue, to)
			}
		}
	}
	if arrival[c.sink] == 0 {
		return nil
	}
	for at := c.sink; at != start; {
		e := arrival[at] - 1
		arcs = append(arcs, e)
		at = int(c.edges[e^1].to)
	}
	return arcs
}

// nodeCost returns the cost of a site at node i, or unlimited if there cannot be one.
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

// edgeCost returns the cost of a site at n, a conditional jump, that counts only the hits that go on to node to. It
// returns unlimited if there cannot be such a site.
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

// frequency estimates how often node i runs: 1 if the function has failed there (its result is 0) or the compiler has
// moved the code to a cold fragment, else ordinary.
func (g *graph) frequency(i int) int32 {
	if g.nodes[i].cold {
		return 1
	}
	for range g.nodes { // back along the only path to here
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
