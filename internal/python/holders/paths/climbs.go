package paths

import (
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// climbs finds the ends of ways from nodes up to their roots. Most ways are short, and are gone step by step. A way may
// as well be as long as there are nodes (a list with entries that lead to the next one), and each of its nodes may have
// a block: to go all of it for each would take hours. Once a way is longer than maxDirect, all nodes are noted, each
// once, so that the middle of a way is passed over.
type climbs struct {
	nodes  []climb // by node
	waste  []uint8 // by node: the garbage collector's knowledge of its way
	steps  int     // nodes that were looked at
	worded int     // nodes that were put into words
	tables uint64  // bytes of line tables that were read
	far    pathEnd // the last
}

// climb leads from a node up its way. A jump passes over nodes; jumps that follow each other lead to any node above in
// about twice as many steps as its logarithm (E. W. Myers, An applicative random-access stack, 1983).
type climb struct {
	depth  int32 // of a root 0
	jump   int32 // a node further up; of a root itself
	begins int32 // the first node on the way, itself included, that a frame holds; -1 for none
}

// Bounds of climbs.
const (
	maxDirect = 64      // nodes of a way that are gone one after another
	maxNamed  = 256     // nodes at each end of a way that are put into words; most are one step, some are none
	maxAsked  = 8       // frames on a way that are asked for a function
	maxWorded = 1 << 25 // nodes that are put into words, of all ways; after that leastNamed at each end
	// leastNamed are as many as a path shows, and some that are no steps.
	leastNamed = 32
	// maxTables are bytes of line tables, of all ways; after that no line is given.
	maxTables = 1 << 30
)

// note notes the depth and a jump of each node that is new.
func (c *climbs) note(reached *walk.Reached) {
	if c.nodes == nil {
		c.nodes = make([]climb, 0, len(reached.Nodes))
	}
	for node := int32(len(c.nodes)); int(node) < len(reached.Nodes); node++ {
		c.steps++
		one := climb{jump: node, begins: -1}
		if p := reached.Nodes[node].Parent; p >= 0 { // it was there before
			of := c.nodes[p]
			one = climb{depth: of.depth + 1, jump: p, begins: of.begins}
			if next := c.nodes[of.jump]; of.depth-next.depth == next.depth-c.nodes[next.jump].depth {
				one.jump = next.jump
			}
		}
		if isBegin(reached, node) {
			one.begins = node
		}
		c.nodes = append(c.nodes, one)
	}
}

// above returns the node on the way from a node that is at a depth, which is no deeper.
func (c *climbs) above(reached *walk.Reached, node, depth int32) int32 {
	for c.nodes[node].depth > depth {
		c.steps++
		if to := c.nodes[node].jump; c.nodes[to].depth >= depth {
			node = to
		} else {
			node = reached.Nodes[node].Parent
		}
	}
	return node
}

// root returns the root that a node was reached from.
func (c *climbs) root(reached *walk.Reached, node int32) int32 {
	if int(node) < len(c.nodes) {
		return c.above(reached, node, 0)
	}
	at := node
	for range maxDirect {
		c.steps++
		up := reached.Nodes[at].Parent
		if up < 0 {
			return at
		}
		at = up
	}
	c.note(reached)
	return c.above(reached, node, 0)
}

// frame returns the first node on the way up that a frame holds, -1 for none.
func (c *climbs) frame(reached *walk.Reached, node int32) int32 {
	if int(node) < len(c.nodes) {
		return c.nodes[node].begins
	}
	at := node
	for range maxDirect {
		if at < 0 || isBegin(reached, at) {
			return at
		}
		c.steps++
		at = reached.Nodes[at].Parent
	}
	c.note(reached)
	return c.nodes[node].begins
}

// isBegin reports whether a frame holds a node as a variable or a value in use. Such a label is never left for later.
func isBegin(reached *walk.Reached, node int32) bool {
	kind := reached.Labels[reached.Nodes[node].Label].Kind
	return kind == walk.LabelLocal || kind == walk.LabelTemporary
}

// frameOf climbs from a node to the first frame that describe accepts. It returns the child of that frame on the path,
// or -1.
func (c *climbs) frameOf(reached *walk.Reached, node int32, describe func(frame int32) bool) int32 {
	for range maxAsked {
		at := c.frame(reached, node)
		if at < 0 {
			break
		}
		if node = reached.Nodes[at].Parent; describe(node) {
			return at
		}
		if node < 0 {
			break
		}
	}
	return -1
}

// The garbage collector's knowledge of a way.
const (
	wasteFrozen uint8 = 1 << iota // it leaves an object on it alone
	wasteYoung                    // it has not looked at one of its objects
)

// wasteAt returns that knowledge of a node itself.
func wasteAt(reached *walk.Reached, node int32) (is uint8) {
	id := reached.Nodes[node].ID
	if id < 0 || !reached.Notes.Noted[id].Is(objects.NoteTracked) {
		return 0
	}
	if reached.Notes.Noted[id].Is(objects.NoteFrozen) {
		is |= wasteFrozen
	}
	if !reached.Notes.Noted[id].Is(objects.NoteOld) {
		is |= wasteYoung
	}
	return is
}

// wasteOn returns that knowledge of the way from a node, the node included.
func (c *climbs) wasteOn(reached *walk.Reached, node int32) (is uint8) {
	if int(node) < len(c.waste) {
		return c.waste[node]
	}
	at := node
	for range maxDirect {
		if at < 0 {
			return is
		}
		c.steps++
		is |= wasteAt(reached, at)
		at = reached.Nodes[at].Parent
	}
	for node := int32(len(c.waste)); int(node) < len(reached.Nodes); node++ {
		c.steps++
		one := wasteAt(reached, node)
		if p := reached.Nodes[node].Parent; p >= 0 {
			one |= c.waste[p]
		}
		c.waste = append(c.waste, one)
	}
	return c.waste[node]
}

// pathEnd is the upper end of a way, as long as ways have the same.
type pathEnd struct {
	size         int32 // nodes, at most; 0 for none
	from, begins int32
	steps        []string
	output       int
}
