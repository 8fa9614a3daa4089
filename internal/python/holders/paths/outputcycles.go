package paths

import (
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// outputCycles finds out whether an output's object is in a reference cycle: then deleting the output's names does not
// free it, only the garbage collector does.
type outputCycles struct {
	w     *walk.Walker
	known map[int32]bool // by node, of it and of everything that lies between it and the output
	met   map[int32]bool // of one search, by node
	left  int            // steps that may still be taken
}

// maxSearched bounds the steps that all searches take: references followed, and nodes on the ways to outputs.
const maxSearched = 1 << 23

// newOutputCycles returns the cycles of a walk that is over.
func newOutputCycles(w *walk.Walker) *outputCycles {
	return &outputCycles{w: w, known: map[int32]bool{}, left: maxSearched}
}

// holds reports that of a node that an output leads to: of it, and of everything that lies between. Many blocks may lie
// on one long way, which is gone once.
func (c *outputCycles) holds(node int32) bool {
	w := c.w
	if w.Notes == nil || w.Nodes[node].Kind != walk.KindOutput {
		return false
	}
	var way []int32
	is := false
	// Out is IPython's own
	for at := node; at >= 0 && w.Addrs[at] != w.Shell.Out && c.left > 0; at = w.Nodes[at].Parent {
		known, ok := c.known[at]
		if is = known; ok {
			break
		}
		way = append(way, at)
		if is = c.leadsBack(at); is {
			break
		}
	}
	for _, at := range way {
		c.known[at] = is
	}
	return is
}

// leadsBack reports whether an object leads to itself. It assumes so for an object that leads to some without notes.
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
		one := &w.Notes.Noted[id]
		if one.Is(objects.NoteLeaf) || w.Nodes[node].What == walk.NodePart {
			continue
		}
		if one.First == objects.Unnoted {
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
				to := w.Of[s.ID()] - 1
				switch {
				case to < 0 || w.Nodes[to].Kind != walk.KindOutput:
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

// isPandas reports whether an object is of one of the classes that pandas makes its frames of.
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
