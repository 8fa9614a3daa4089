package holders

// cyclic finds out whether an object that an output leads to is in a reference cycle: then it does not go with the
// output's names, but when the garbage collector comes.
type cyclic struct {
	w     *walker
	known map[int32]bool // by node, of it and of everything that lies between it and the output
	met   map[int32]bool // of one search, by node
	left  int            // steps that may still be taken
}

// maxSearched bounds the steps that all searches take: references followed, and nodes on the ways to outputs.
const maxSearched = 1 << 23

func newCyclic(w *walker) *cyclic { return &cyclic{w: w, known: map[int32]bool{}, left: maxSearched} }

// holds reports that of a node that an output leads to: of it, and of everything that lies between. Many blocks may lie
// on one long way, which is gone once.
func (c *cyclic) holds(n int32) bool {
	w := c.w
	if w.notes == nil || w.nodes[n].kind != kindOutput {
		return false
	}
	var way []int32
	is := false
	for at := n; at >= 0 && w.addrs[at] != w.shell.out && c.left > 0; at = w.nodes[at].parent { // Out is IPython's own
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

// leadsBack reports whether an object leads to itself. That is assumed where it leads to objects without notes.
func (c *cyclic) leadsBack(first int32) bool {
	w := c.w
	c.met = map[int32]bool{}
	queue := []int32{first}
	for len(queue) > 0 && c.left > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		c.left--
		id := w.nodes[n].id
		if id < 0 {
			return true
		}
		one := &w.notes.noted[id]
		if one.is(noteLeaf) || w.nodes[n].what == nodePart {
			continue
		}
		if one.first == unnoted {
			if one.typ() != 0 && c.isPlain(w.notes.types[one.typ()]) || c.isPandas(w.addrs[n]) {
				continue
			}
			return true
		}
		for at := one.first; w.notes.steps[at].kind() != stepStop && c.left > 0; at++ {
			c.left--
			switch s := w.notes.steps[at]; s.kind() {
			case stepFollow, stepWord, stepKey:
				to := w.of[s.id()] - 1
				switch {
				case to < 0 || w.nodes[to].kind != kindOutput:
				case to == first:
					return true
				case !c.met[to]:
					c.met[to] = true
					queue = append(queue, to)
				}
			case stepRaw:
				at++ // the other half of the word
			}
		}
	}
	return false
}

// isPlain reports whether objects of a type lead to nothing that could lead back: pyarrow's lead to objects that are
// not Python's.
func (c *cyclic) isPlain(t *typ) bool { return isPlain(t.name) || isArrow(t.name) }

// isPandas reports whether an object is one of pandas' own that its frames are made of.
func (c *cyclic) isPandas(addr uint64) bool {
	t := c.w.objectType(addr)
	for n := 0; t != nil && n < maxBases; n++ {
		if isPlain(t.name) {
			return true
		}
		if t.up == t.addr {
			break
		}
		t = c.w.typeAt(t.up)
	}
	return false
}
