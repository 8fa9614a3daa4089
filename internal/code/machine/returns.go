package machine

import (
	"cmp"
	"slices"

	"ipytracer/internal/code/isa"
)

// ReturnSite is a site at which a function's result is final: a ret, or an emulated instruction before it.
type ReturnSite struct {
	Site
	// Result is the place of the result at the site.
	Result Register
	// Condition selects the hits that count. Only a site at a conditional jump has one. The hits that do not count are
	// of calls that go on, and pass another site later.
	Condition Condition
}

// returnSites returns the sites at which a function's result is seen, in order of address. They are the cheapest set of
// which every call that returns passes exactly one, once, with its condition fulfilled. If the analysis is not sure,
// the sites are the ret instructions. complete is false if the function may also be left in another way.
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
	if ok = true; len(sites) == 0 {
		sites, ok = t.atReturns(flow, name, fn.Value)
	}
	slices.SortFunc(sites, func(x, y ReturnSite) int { return cmp.Compare(x.Address, y.Address) })
	return sites, ok && flow.complete && len(sites) > 0
}

// atReturns returns sites at the ret instructions of a function, in order of address. If a ret takes no probe, the site
// is at the instruction before it. ok is false if some ret gets no site in either way.
func (t *Text) atReturns(f *flow, name string, entry uint64) (sites []ReturnSite, ok bool) {
	ok = true
	for _, addr := range slices.Sorted(slices.Values(f.returns)) {
		site := t.site(name, entry, addr, 0)
		if !site.Present() {
			site = t.beforeReturn(f, name, entry, addr)
		}
		if ok = ok && site.Present(); site.Present() {
			sites = append(sites, ReturnSite{Site: site})
		}
	}
	return sites, ok
}

// beforeReturn returns a site at the instruction before a ret. It returns the zero Site if control may come to the ret
// from elsewhere, may go elsewhere from that instruction, or the result is not in its register there.
func (t *Text) beforeReturn(f *flow, name string, entry, ret uint64) Site {
	for addr, at := range f.seen {
		in, ok := t.decode(addr)
		if !ok || in.End() != ret || f.targets[ret] || in.Jumps() || in.Kind == isa.Call ||
			in.MayWrite(t.arch.Result.Set()) || !at.known || at.pushed < 0 {
			continue
		}
		return t.site(name, entry, addr, int32(at.pushed))
	}
	return Site{}
}

// cutSites returns the sites of the cheapest cut of a graph, and none if there is no usable cut.
func (t *Text) cutSites(g *graph, name string, entry uint64) (sites []ReturnSite) {
	behind, ok := newCut(g).solve(g.entry)
	if !ok {
		return nil
	}
	add := func(n *node, result locations, c Condition) {
		r, _ := g.resultRegister(result)
		site := t.site(name, entry, n.Addr, int32(n.stack.pushed))
		sites = append(sites, ReturnSite{site, r, c})
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		if behind[exitOf(i)] {
			if !behind[entranceOf(i)] {
				add(n, n.result, Condition{})
			}
			continue
		}
		cutStraight := n.straight != none && behind[entranceOf(n.straight)]
		cutTaken := n.taken != none && behind[entranceOf(n.taken)]
		switch {
		case cutStraight && cutTaken: // this would need two probes at one instruction
			return nil
		case cutStraight:
			add(n, g.nodes[n.straight].result, n.Condition.Otherwise())
		case cutTaken:
			add(n, g.nodes[n.taken].result, n.Condition)
		}
	}
	return sites
}
