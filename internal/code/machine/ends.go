package machine

import (
	"iter"
	"maps"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/isa"
)

// Symbols returns the exported symbols that the caller of [OpenCode] wanted, by name, in no order.
func (c *Code) Symbols() iter.Seq2[string, elffile.Symbol] { return maps.All(c.image.Symbols) }

// Entry returns a site at which the first arguments of the function at an address are seen, see [Text.EntryIn]. The
// caller chooses the name.
func (c *Code) Entry(name string, entry uint64, arguments int) Site {
	return c.text.EntryIn(name, c.function(entry), arguments)
}

// EntryStoring does what [Code.Entry] does, for a function that stores its result at an address that its caller passes.
// That address does not count as one of the arguments, and is also still in its register at the site.
func (c *Code) EntryStoring(name string, entry uint64, arguments int) Site {
	kept := c.text.arguments(arguments + 1)
	if stored := c.text.arch.Stored; stored != isa.None {
		kept = c.text.arguments(arguments) | stored.Set()
	}
	return c.text.entryWith(name, c.function(entry), kept)
}

// function returns a symbol for the function at an address. Its size is 0 if the size is not known.
func (c *Code) function(entry uint64) elffile.Symbol {
	body, ok := c.image.Fragment(entry)
	if !ok || body.Start != entry {
		return elffile.Symbol{Value: entry, Function: true}
	}
	return elffile.Symbol{Value: entry, Size: body.End - entry, Function: true}
}

// Ends returns the cheapest sites at which the function at an address has finished all its stores outside of its stack
// frame. Every call that returns passes exactly one of the sites, once, with its condition fulfilled. The field Result
// of the sites has no meaning. ok is false if the function may be left in another way, or the analysis is not sure.
func (c *Code) Ends(name string, entry uint64) (sites []ReturnSite, ok bool) {
	f := newFlow(c.text, entry, c.function(entry).Size)
	f.limit = maxNodes + 1 // a larger function has no graph
	f.explore(entry)
	c.work += len(f.seen)
	g, ok := newGraph(f, entry)
	if !ok || c.work > maxWork {
		return nil, false
	}
	g.findStored()
	sites = c.text.cutSites(g, name, entry)
	return sites, len(sites) > 0
}

// findStored sets the field result of each node. It is the result register if the function stores nothing and calls
// nothing from that node on, and 0 otherwise. So a cut treats the nodes behind the last store like nodes behind the
// instruction that makes a result.
func (g *graph) findStored() {
	for i := range g.nodes {
		g.nodes[i].result = g.returned()
	}
	for changed := true; changed; {
		changed = false
		for i := len(g.nodes) - 1; i >= 0; i-- {
			n := &g.nodes[i]
			stores := g.stores(n)
			n.next(func(j int) { stores = stores || g.nodes[j].result == 0 })
			if stores && n.result != 0 {
				n.result, changed = 0, true
			}
		}
	}
}

// stores reports whether the instruction may change memory outside of the function's frame. A call always may.
func (g *graph) stores(n *node) bool {
	switch n.Kind {
	case isa.Compare, isa.Test, isa.Push, isa.Nop, isa.Return, isa.Jump, isa.Branch, isa.Leave:
		return false
	case isa.Call:
		return true
	}
	if !n.Plain {
		return true
	}
	if !n.Operands[0].Memory() {
		return false
	}
	at, own := g.slot(n, &n.Operands[0])
	return !own || at >= 0
}
