package holders

import "ipytracer/event"

// An array that owns its data and is none of the blocks that were asked for was made when nobody looked: before the tracer came, or
// while its probes were out. A walk finds it all the same, and who holds it.

const (
	leastUnseen = 64 << 10 // bytes of an array's data
	maxUnseen   = 1 << 16
)

// unseen is the data of such an array.
type unseen struct {
	node          int32
	address, size uint64
}

// noteArray takes in the data of an array that owns it.
func (w *walker) noteArray(n int32, a arrayNote) {
	if w.seeking && len(w.unseen) < maxUnseen && a.span >= leastUnseen && a.span < userSpace && w.blockAt(a.data) < 0 {
		w.unseen = append(w.unseen, unseen{n, a.data, a.span})
	}
}

// describeUnseen says who holds the arrays that nobody has asked for, each once.
func (w *walker) describeUnseen() (out []event.Holder) {
	known := map[uint64]bool{}
	for _, u := range w.unseen {
		if known[u.address] || w.nodes[u.node].kind == kindNone {
			continue
		}
		known[u.address] = true
		h := event.Holder{Address: u.address, Size: event.Bytes(u.size)}
		w.describe(&h, u.node)
		out = append(out, h)
	}
	return out
}
