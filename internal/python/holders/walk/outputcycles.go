package walk

import (
	"ipytracer/internal/python/holders/objects"
)

// outputCycles finds out whether an output's object is in a reference cycle: then deleting the output's names does not
// free it, only the garbage collector does.
type outputCycles struct {
	w     *Walker
	known map[int32]bool // the results of holds, by node
	met   map[int32]bool // the nodes that the search of leadsBack has met
	left  int            // steps that may still be taken
}

// maxSearched bounds the steps that all searches take: references followed, and nodes on the ways to outputs.
const maxSearched = 1 << 23

// newOutputCycles returns the cycles of outputs, for a walk that is over.
func newOutputCycles(w *Walker) *outputCycles {
	return &outputCycles{w: w, known: map[int32]bool{}, left: maxSearched}
}

// holds reports whether a node, or an object on the way from an output to the node, is in a cycle. It is false if the
// node's root is no output. Many blocks may lie on one long way: results are kept, so that each node is searched once.
func (c *outputCycles) holds(node int32) bool {
	w := c.w
	if w.Notes == nil || w.Nodes[node].Kind != KindOutput {
		return false
	}
	var way []int32
	inCycle := false
	// The way ends below Out, which is IPython's own.
	for at := node; at >= 0 && w.Addrs[at] != w.Shell.Out && c.left > 0; at = w.Nodes[at].Parent {
		known, ok := c.known[at]
		if inCycle = known; ok {
			break
		}
		way = append(way, at)
		if inCycle = c.leadsBack(at); inCycle {
			break
		}
	}
	for _, at := range way {
		c.known[at] = inCycle
	}
	return inCycle
}

// leadsBack reports whether references lead from an object back to itself. It assumes so if they lead to an object
// whose references were not noted.
func (c *outputCycles) leadsBack(first int32) bool {
	w := c.w
	c.met = map[int32]bool{}
	queue := []int32{first}
	for len(queue) > 0 && c.left > 0 {
		node := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		c.left--
		id := w.Nodes[node].ID
		if id < 0 {
			return true
		}
		note := &w.Notes.Noted[id]
		if note.Is(objects.NoteLeaf) || w.Nodes[node].What == NodePart {
			continue
		}
		if note.First == objects.Unnoted {
			if t := w.Notes.TypeOf(id); t != nil && isPlain(t.Name) || c.isPandas(w.Addrs[node]) {
				continue
			}
			return true
		}
		for s := range w.Notes.StepsOf(id) {
			if c.left--; c.left < 0 {
				break
			}
			switch s.Kind() {
			case objects.StepFollow, objects.StepWord, objects.StepKey:
				to := w.NodeOf[s.ID()] - 1
				switch {
				case to < 0 || w.Nodes[to].Kind != KindOutput:
				case to == first:
					return true
				case !c.met[to]:
					c.met[to] = true
					queue = append(queue, to)
				}
			}
		}
	}
	return false
}

// isPandas reports whether an object is a part of a pandas frame, such as a block: its class derives from a plain one.
func (c *outputCycles) isPandas(addr uint64) bool {
	for typ := range c.w.Bases(c.w.ObjectType(addr)) {
		if objects.IsPlain(typ.Name) {
			return true
		}
	}
	return false
}

// isPlain reports whether objects of a type cannot lead back to Python's objects. (pyarrow's lead only to C++ objects.)
func isPlain(name string) bool { return objects.IsPlain(name) || objects.IsArrow(name) }
