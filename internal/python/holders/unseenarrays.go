package holders

import "ipytracer/event"

// An array that owns its data and is none of the blocks that were asked for was made unseen: before the tracer came, or
// while its probes were out. A walk finds it all the same, with its holder.

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
func (f *finder) noteArray(n int32, a arrayNote) {
	if f.seeking && len(f.unseen) < maxUnseen && a.span >= leastUnseen && a.span < userSpace && f.blockAt(a.data) < 0 {
		f.unseen = append(f.unseen, unseen{n, a.data, a.span})
	}
}

// describeUnseen returns the holders of the arrays that were not asked for, each once.
func (f *finder) describeUnseen() (out []event.Holder) {
	known := map[uint64]bool{}
	for _, u := range f.unseen {
		if known[u.address] || f.nodes[u.node].kind == kindNone {
			continue
		}
		known[u.address] = true
		h := event.Holder{Address: u.address, Size: event.Bytes(u.size)}
		f.paths.describe(&h, u.node)
		out = append(out, h)
	}
	return out
}
