package stacks

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// BlockKey is the address of a block of a meter of a process.
type BlockKey struct {
	course.Key
	Address uint64
}

// Block is the size of a block, and the stack that allocated it.
type Block struct {
	Size  event.Bytes
	Stack uint64
}

// AskedKey identifies a block of a process.
type AskedKey struct {
	PID     int32
	Address uint64
}

// Room limits the blocks and stacks that are kept.
type Room struct {
	Blocks, Tallies, Stacks, Frames int
	Text                            int // bytes of all names in stacks
}

// RoomOfSession is the room of a session with a report or an audit, RoomOfProfiler that of one that is monitored with
// its stacks, beside many others.
var (
	RoomOfSession  = Room{MaxBlocks, MaxTallies, maxStacks, maxFrames, maxStackText}
	RoomOfProfiler = Room{Blocks: 1 << 15, Tallies: 1 << 14, Stacks: 1 << 13, Frames: 1 << 17, Text: 1 << 20}
)

// Limits on the records kept: a target can allocate blocks and use stacks without end.
const (
	MaxBlocks    = 2 << 20 // as many as the kernel's own tables hold
	MaxTallies   = 1 << 20
	maxFrames    = 1 << 20  // of all stacks together
	MaxWaits     = 1 << 18  // changes that wait for their segments
	maxStacks    = 1 << 18  // twice the kernel's
	maxStackText = 32 << 20 // bytes of all names
)
