package machine

import (
	"cmp"
	"slices"

	"ipytracer/internal/code/isa"
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
	if ok = true; len(sites) == 0 {
		sites, ok = t.atReturns(flow, name, fn.Value)
	}
	slices.SortFunc(sites, func(x, y ReturnSite) int { return cmp.Compare(x.Address, y.Address) })
	return sites, ok && flow.complete && len(sites) > 0
}

// atReturns returns the ret instructions of a function, in order of address. One that takes no probe is stood for by
// the instruction in front of it. ok is false where that may be passed otherwise, or takes none either.
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

// beforeReturn returns the instruction in front of a ret, if control comes to the ret from there alone, always, and the
// result is in its register.
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

// cutSites returns the sites where the cheapest cut of a graph crosses it, none if there is no usable one.
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
