package attribution

import (
	"ipytracer/event"
)

// place is where a block lies in its process.
type place struct {
	meter   event.Meter
	address uint64
}

// kept is a block that lives.
type kept struct {
	size  event.Bytes
	stack uint64
	birth *birth
	at    event.Nanoseconds
	// sample: it stands for other blocks that are as large as it is.
	sample bool
}

// closing is a statement that ended.
type closing struct {
	birth  *birth
	closed event.Nanoseconds
}

// vforkLag is how long after its parent went on a child that was started by vfork may be seen to execute its program:
// the kernel lets the parent go when the child's old memory is released, and tells of the new program after that.
const vforkLag = event.Nanoseconds(100e6)

// latest is how many windows a change can be late.
const latest = 64

// left is a block that was freed when no cell ran.
type left struct {
	kept
	freed     event.Nanoseconds
	release   *window // the first failed cell since its own, nil if there is none
	collected bool
}

type passed struct {
	bytes event.Bytes
	count int64
	first event.Nanoseconds // when the first was made
	last  event.Nanoseconds // when the last was freed
}

// unmapping is what is added up of ranges that went.
type unmapping struct {
	pid   int32
	stack uint64
	birth *birth
	in    *window // the cell in which they went, or the time between
}

// passing is what is added up of blocks that went, but too late.
type passing struct {
	pid     int32
	meter   event.Meter
	stack   uint64
	birth   *birth
	release *window // the failed cell that let go of them; nil: no cell ran when they went
	in      *birth  // where in that cell they went, if that has to fail for it; nil: it has failed
}
