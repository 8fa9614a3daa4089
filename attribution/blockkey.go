package attribution

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

type blockKey struct {
	course.Key
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

// room limits the blocks and stacks that are kept.
type room struct {
	blocks, tallies, stacks, frames int
	text                            int // bytes of all names in stacks
}

// roomOfSession is the room of a [Tracker] and of an [Auditor], roomOfProfiler that of a Monitor with stacks, which is
// one of many.
var (
	roomOfSession  = room{maxBlocks, maxTallies, maxStacks, maxFrames, maxStackText}
	roomOfProfiler = room{blocks: 1 << 15, tallies: 1 << 14, stacks: 1 << 13, frames: 1 << 17, text: 1 << 20}
)

// Limits on the records kept: a target can allocate blocks and use stacks without end.
const (
	maxBlocks  = 2 << 20 // as many as the kernel's own tables hold
	maxTallies = 1 << 20
	maxFrames  = 1 << 20 // of all stacks together
	maxWaits   = 1 << 18 // changes that wait for their segments
)
