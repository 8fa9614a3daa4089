package machine

import (
	"cmp"
	"slices"
)

// ReturnSite is a place on the way out of a function where its result is settled: a ret, or an emulated instruction
// before it.
type ReturnSite struct {
	Site
	// Result is the place of the function's later result.
	Result Register
	// Condition selects the hits that count. Only a conditional jump has one, and then the others are calls that go on
	// and pass another site later.
	Condition Condition
}

// returnSites returns the places where a function's result is seen, in order of address: the cheapest set of sites of
// which every call that returns passes exactly one that counts, exactly once. Where the analysis is not sure they are
// the ret instructions. complete is false where the function may also be left otherwise.
func (t *Text) returnSites(name string, tails func(uint64) tail) (sites []ReturnSite, complete bool) {
	fn, ok := t.image.Function(name)
	if !ok {
		return nil, false
	}
	flow := exploreTails(t, fn.Value, fn.Size, tails)
	if g, ok := newGraph(flow, fn.Value); ok {
		g.findResults()
		sites = t.cutSites(g, name, fn.Value)
	}
	if len(sites) == 0 {
		for _, addr := range flow.returns {
			sites = append(sites, ReturnSite{Site: t.site(name, fn.Value, addr, 0, false)})
		}
	}
	slices.SortFunc(sites, func(x, y ReturnSite) int { return cmp.Compare(x.Address, y.Address) })
	return sites, flow.complete && len(sites) > 0
}

// cutSites returns the sites where the cheapest cut of a graph crosses it, none if there is no usable one.
func (t *Text) cutSites(g *graph, name string, entry uint64) (sites []ReturnSite) {
	behind, ok := newCut(g).solve(g.entry)
	if !ok {
		return nil
	}
	add := func(n *node, result locations, c Condition) {
		r, _ := g.resultRegister(result)
		site := t.site(name, entry, n.Addr, int32(n.stack.pushed), n.Emulated)
		sites = append(sites, ReturnSite{site, r, c})
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		if behind[2*i+1] {
			if !behind[2*i] {
				add(n, n.result, Condition{})
			}
			continue
		}
		straight := n.straight != none && behind[2*n.straight]
		jump := n.taken != none && behind[2*n.taken]
		switch {
		case straight && jump: // two probes in one place
			return nil
		case straight:
			add(n, g.nodes[n.straight].result, n.Condition.Otherwise())
		case jump:
			add(n, g.nodes[n.taken].result, n.Condition)
		}
	}
	return sites
}
