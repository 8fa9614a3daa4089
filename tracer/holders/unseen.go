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

// ownSpan is span for an array that owns its data, and 0 for others: PyArrayObject_fields.flags at 64, NPY_ARRAY_OWNDATA is 4.
func (w *walker) ownSpan(addr uint64) uint64 {
	const flags, owns = 64, 4
	if w.mem.int32(addr+flags)&owns == 0 {
		return 0
	}
	return w.span(addr)
}

// span is how far an array's elements reach, which is the size of its data if it owns that: the longest of its axes, each as many
// times its stride. An array of one element is taken for nothing.
func (w *walker) span(addr uint64) (bytes uint64) {
	const nd, dimensions, strides = 24, 32, 40
	axes := uint64(max(0, min(w.mem.int32(addr+nd), 64)))
	at := w.mem.word(addr + strides)
	w.mem.words(w.mem.word(addr+dimensions), axes, func(i, length uint64) bool {
		stride := int64(w.mem.word(at + 8*i))
		stride = max(stride, -stride)
		switch {
		case length == 0:
			bytes = 0
			return false
		case length > 1 && stride > 0 && length < userSpace/uint64(stride):
			bytes = max(bytes, length*uint64(stride))
		}
		return true
	})
	return bytes
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
