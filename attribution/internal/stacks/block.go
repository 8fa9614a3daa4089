package stacks

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// BlockKey identifies a block: its process, its meter and its address.
type BlockKey struct {
	course.Key
	Address uint64
}

// Block is the size of a block, and the stack that allocated it.
type Block struct {
	Size  event.Bytes
	Stack uint64
}

// AskedKey identifies a block of a process without its meter.
type AskedKey struct {
	PID     int32
	Address uint64
}

// Room limits the blocks and stacks that are kept.
type Room struct {
	Blocks, Tallies, Stacks, Frames int
	Text                            int // bytes of all names in stacks
}

// RoomOfSession is the room of a session with a report or an audit. RoomOfProfiler is the room of a profiler, which
// runs beside many others.
var (
	RoomOfSession  = Room{MaxBlocks, MaxTallies, maxStacks, maxFrames, maxStackText}
	RoomOfProfiler = Room{Blocks: 1 << 15, Tallies: 1 << 14, Stacks: 1 << 13, Frames: 1 << 17, Text: 1 << 20}
)

// Limits on the records kept: a target can allocate blocks and use stacks without end.
const (
	MaxBlocks    = 2 << 20 // as many as the kernel half's tables hold
	MaxTallies   = 1 << 20
	maxFrames    = 1 << 20  // of all stacks together
	MaxWaits     = 1 << 18  // changes that wait for their segments
	maxStacks    = 1 << 18  // twice as many as the kernel half keeps
	maxStackText = 32 << 20 // bytes of all names
)
