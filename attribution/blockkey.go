package attribution

import "ipytracer/event"

type heldKey struct {
	pid   int32
	meter event.Meter
}

type blockKey struct {
	heldKey
	address uint64
}

type block struct {
	size  event.Bytes
	stack uint64
}

// askedKey identifies a block of a process.
type askedKey struct {
	pid     int32
	address uint64
}

// Limits on the records kept: a target can allocate blocks and use stacks without end.
const (
	maxBlocks  = 2 << 20 // as many as the kernel's own tables hold
	maxTallies = 1 << 20
	maxFrames  = 1 << 20 // of all stacks together
	maxWaits   = 1 << 18 // changes that wait for their segments
)
