package walk

import (
	"ipytracer/internal/python/holders/objects"
)

// climbs climbs from nodes to their roots, by way of parents. Most of these ways are short, and are climbed node by
// node. But a way may have as many nodes as the walk (a linked list), and each node may have a block: to climb all of
// the way for each would take hours. Once a way is longer than maxDirect, a climb is noted for every node, by which the
// middle of a way is skipped.
type climbs struct {
	nodes  []climb // by node
	waste  []uint8 // by node: the garbage collector's knowledge of the way, see wasteFrozen
	steps  int     // nodes that were looked at
	worded int     // nodes that were put into words
	tables uint64  // bytes of line tables that were read
	far    pathEnd // the last upper end that was put into words
}

// climb leads from a node up its way. Jumps lead to any node above in about twice the logarithm of the depth (E. W.
// Myers, An applicative random-access stack, 1983).
type climb struct {
	depth  int32 // 0 for a root
	jump   int32 // a node further up; a root's is the root
	begins int32 // the first node on the way, itself included, that a frame holds; -1 for none
}

// Bounds of climbs.
const (
	maxDirect  = 64      // nodes of a way that are climbed one after another
	maxNamed   = 256     // nodes at each end of a way that are put into words; most are one step, some are none
	maxAsked   = 8       // frames on a way that are asked for a function
	maxWorded  = 1 << 25 // nodes that are put into words, of all ways; after that leastNamed at each end
	leastNamed = 32      // as many nodes as a path shows, and some that are no steps
	maxTables  = 1 << 30 // bytes of line tables, of all ways; after that no line is given
)

// noteClimbs notes the climb of each node that has none yet.
func (c *climbs) noteClimbs(reached *Reached) {
	if c.nodes == nil {
		c.nodes = make([]climb, 0, len(reached.Nodes))
	}
	for node := int32(len(c.nodes)); int(node) < len(reached.Nodes); node++ {
		c.steps++
		current := climb{jump: node, begins: -1}
		if p := reached.Nodes[node].Parent; p >= 0 { // parents come before their children
			parent := c.nodes[p]
			current = climb{depth: parent.depth + 1, jump: p, begins: parent.begins}
			next := c.nodes[parent.jump]
			if parent.depth-next.depth == next.depth-c.nodes[next.jump].depth { // two jumps of the same length make one
				current.jump = next.jump
			}
		}
		if isHeldByFrame(reached, node) {
			current.begins = node
		}
		c.nodes = append(c.nodes, current)
	}
}

// above returns the node at a depth on the way up from a node. The depth is at most the node's.
func (c *climbs) above(reached *Reached, node, depth int32) int32 {
	for c.nodes[node].depth > depth {
		c.steps++
		jump := c.nodes[node].jump
		if c.nodes[jump].depth >= depth {
			node = jump
		} else {
			node = reached.Nodes[node].Parent
		}
	}
	return node
}

// root returns the root from which a node was reached.
func (c *climbs) root(reached *Reached, node int32) int32 {
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
	c.noteClimbs(reached)
	return c.above(reached, node, 0)
}

// frame returns the first node on the way up that a frame holds, -1 for none.
func (c *climbs) frame(reached *Reached, node int32) int32 {
	if int(node) < len(c.nodes) {
		return c.nodes[node].begins
	}
	at := node
	for range maxDirect {
		if at < 0 || isHeldByFrame(reached, at) {
			return at
		}
		c.steps++
		at = reached.Nodes[at].Parent
	}
	c.noteClimbs(reached)
	return c.nodes[node].begins
}

// isHeldByFrame reports whether a frame holds a node as a variable or a value in use.
func isHeldByFrame(reached *Reached, node int32) bool {
	kind := reached.Labels[reached.Nodes[node].Label].Kind
	return kind == LabelLocal || kind == LabelTemporary
}

// frameOf climbs from a node to the first frame that describe accepts. It returns the child of that frame on the path,
// or -1.
func (c *climbs) frameOf(reached *Reached, node int32, describe func(frame int32) bool) int32 {
	for range maxAsked {
		at := c.frame(reached, node)
		if at < 0 {
			break
		}
		frame := reached.Nodes[at].Parent
		if describe(frame) {
			return at
		}
		if frame < 0 {
			break
		}
		node = frame
	}
	return -1
}

// The garbage collector's knowledge of a way: flags.
const (
	wasteFrozen uint8 = 1 << iota // the collector leaves an object of the way alone
	wasteYoung                    // the collector has not looked at an object of the way
)

// wasteAt returns the flags of a node itself.
func wasteAt(reached *Reached, node int32) (flags uint8) {
	id := reached.Nodes[node].ID
	if id < 0 || !reached.Notes.Noted[id].Is(objects.NoteTracked) {
		return 0
	}
	if reached.Notes.Noted[id].Is(objects.NoteFrozen) {
		flags |= wasteFrozen
	}
	if !reached.Notes.Noted[id].Is(objects.NoteOld) {
		flags |= wasteYoung
	}
	return flags
}

// wasteOn returns the flags of the way up from a node, the node included.
func (c *climbs) wasteOn(reached *Reached, node int32) (flags uint8) {
	if int(node) < len(c.waste) {
		return c.waste[node]
	}
	at := node
	for range maxDirect {
		if at < 0 {
			return flags
		}
		c.steps++
		flags |= wasteAt(reached, at)
		at = reached.Nodes[at].Parent
	}
	for n := int32(len(c.waste)); int(n) < len(reached.Nodes); n++ {
		c.steps++
		all := wasteAt(reached, n)
		if p := reached.Nodes[n].Parent; p >= 0 {
			all |= c.waste[p]
		}
		c.waste = append(c.waste, all)
	}
	return c.waste[node]
}

// pathEnd is the upper end of a way in words. It is kept for the next way with the same upper end.
type pathEnd struct {
	size         int32 // nodes, at most; 0 for none
	from, begins int32 // the lowest node and path.begins
	steps        []string
	output       int
}
