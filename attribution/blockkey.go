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

// askedKey is a block of a process.
type askedKey struct {
	pid     int32
	address uint64
}

// Limits of what is kept: a target can make blocks and stacks without end.
const (
	maxBlocks  = 2 << 20 // the kernel's own tables hold as many
	maxTallies = 1 << 20
	maxFrames  = 1 << 20 // of all stacks
	maxWaits   = 1 << 18 // changes that wait for their segments
)
