package paths

import (
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// Climbs finds the ends of ways from nodes up to their roots. Most ways are short, and are gone step by step. A way may
// as well be as long as there are nodes (a list with entries that lead to the next one), and each of its nodes may have
// a block: to go all of it for each would take hours. Once a way is longer than maxDirect, all nodes are noted, each
// once, so that the middle of a way is passed over.
type Climbs struct {
	At     []climb // by node
	waste  []uint8 // by node: the garbage collector's knowledge of its way
	Steps  int     // nodes that were looked at
	Worded int     // nodes that were put into words
	Tables uint64  // bytes of line tables that were read
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
	MaxDirect = 64      // nodes of a way that are gone one after another
	MaxNamed  = 256     // nodes at each end of a way that are put into words; most are one step, some are none
	maxAsked  = 8       // frames on a way that are asked for a function
	MaxWorded = 1 << 25 // nodes that are put into words, of all ways; after that leastNamed at each end
	// LeastNamed are as many as a path shows, and some that are no steps.
	LeastNamed = 32
	// MaxTables are bytes of line tables, of all ways; after that no line is given.
	MaxTables = 1 << 30
)

// note takes in the present nodes.
func (c *Climbs) note(reached *walk.Reached) {
	if c.At == nil {
		c.At = make([]climb, 0, len(reached.Nodes))
	}
	for node := int32(len(c.At)); int(node) < len(reached.Nodes); node++ {
		c.Steps++
		one := climb{jump: node, begins: -1}
		if p := reached.Nodes[node].Parent; p >= 0 { // it was there before
			of := c.At[p]
			one = climb{depth: of.depth + 1, jump: p, begins: of.begins}
			if next := c.At[of.jump]; of.depth-next.depth == next.depth-c.At[next.jump].depth {
				one.jump = next.jump
			}
		}
		if isBegin(reached, node) {
			one.begins = node
		}
		c.At = append(c.At, one)
	}
}

// above returns the node on the way from a node that is at a depth, which is no deeper.
func (c *Climbs) above(reached *walk.Reached, node, depth int32) int32 {
	for c.At[node].depth > depth {
		c.Steps++
		if to := c.At[node].jump; c.At[to].depth >= depth {
			node = to
		} else {
			node = reached.Nodes[node].Parent
		}
	}
	return node
}

// root is the root that a node was reached from.
func (c *Climbs) root(reached *walk.Reached, node int32) int32 {
	if int(node) < len(c.At) {
		return c.above(reached, node, 0)
	}
	at := node
	for range MaxDirect {
		c.Steps++
		up := reached.Nodes[at].Parent
		if up < 0 {
			return at
		}
		at = up
	}
	c.note(reached)
	return c.above(reached, node, 0)
}

// frame is the first node on the way from a node that a frame holds, -1 for none.
func (c *Climbs) frame(reached *walk.Reached, node int32) int32 {
	if int(node) < len(c.At) {
		return c.At[node].begins
	}
	at := node
	for range MaxDirect {
		if at < 0 || isBegin(reached, at) {
			return at
		}
		c.Steps++
		at = reached.Nodes[at].Parent
	}
	c.note(reached)
	return c.At[node].begins
}

// isBegin reports whether a frame holds a node as a variable or a value in use. Such a label is never left for later.
func isBegin(reached *walk.Reached, node int32) bool {
	kind := reached.Labels[reached.Nodes[node].Label].Kind
	return kind == walk.LabelLocal || kind == walk.LabelTemporary
}

// frameOf climbs from a node to the first frame that describe accepts. It returns the child of that frame on the path,
// or -1.
func (c *Climbs) frameOf(reached *walk.Reached, node int32, describe func(frame int32) bool) int32 {
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
func (c *Climbs) wasteOn(reached *walk.Reached, node int32) (is uint8) {
	if int(node) < len(c.waste) {
		return c.waste[node]
	}
	at := node
	for range MaxDirect {
		if at < 0 {
			return is
		}
		c.Steps++
		is |= wasteAt(reached, at)
		at = reached.Nodes[at].Parent
	}
	for node := int32(len(c.waste)); int(node) < len(reached.Nodes); node++ {
		c.Steps++
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
