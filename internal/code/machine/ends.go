package machine

import (
	"iter"
	"maps"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/isa"
)

// Symbols are the exported symbols that were wanted, by name, with their addresses; in no order.
func (c *Code) Symbols() iter.Seq2[string, elffile.Symbol] { return maps.All(c.image.Symbols) }

// Entry returns the place where the first arguments of the function that begins at an address are seen, see
// [Library.Entry]. The caller chooses the name.
func (c *Code) Entry(name string, entry uint64, arguments int) Site {
	return c.text.EntryIn(name, c.function(entry), arguments)
}

// EntryStoring is [Code.Entry] of a function that stores its result at an address that it is passed, which is not among
// the arguments.
func (c *Code) EntryStoring(name string, entry uint64, arguments int) Site {
	kept := c.text.arguments(arguments + 1)
	if stored := c.text.arch.Stored; stored != isa.None {
		kept = c.text.arguments(arguments) | stored.Set()
	}
	return c.text.entryWith(name, c.function(entry), kept)
}

func (c *Code) function(entry uint64) elffile.Symbol {
	body, ok := c.image.Fragment(entry)
	if !ok || body.Start != entry {
		return elffile.Symbol{Value: entry, Function: true}
	}
	return elffile.Symbol{Value: entry, Size: body.End - entry, Function: true}
}

// Ends returns the cheapest places, on every way out of the function that begins at an address, at which everything
// that it stores outside of its stack frame is stored: every call that returns passes exactly one of them that counts,
// once ([ReturnSite]; Result has no meaning here). ok is false where the function may be left otherwise, or the
// analysis is not sure.
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

// findStored works out for each node whether anything is stored, or called, there or on a way from there: where nothing
// is, it has the result of a node at which a function is left.
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

// stores reports whether the instruction may change memory outside of the function's frame, itself or in a function
// that it calls.
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
