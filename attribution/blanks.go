package attribution

import (
	"slices"

	"ipytracer/event"
	"ipytracer/model/words"
)

// While NumPy's meter is stepped down arrays come and go unseen; when its probes are back, a search finds out which.
// They were made, or went, at some time since then: for certain in the windows that have been open all that time, and
// of no other it can be said. These have them from their beginning, under a name of their own.

const (
	maxBlanks = 64
	// maxFound is how many such stacks a tracker has. What is beyond them has no name.
	maxFound = 1 << 12
	// foundMark is the first number of theirs.
	foundMark = 0xf0d1_a7e4_0000_0000
)

// blank is a stretch of time in which a meter's blocks came and went unseen, up to the end of the search for them.
type blank struct {
	segment uint64 // the last one before it
	// by process: the cell that ran as it began, or else the last one before; not there for none
	after   map[int32]*window
	settled bool // the search is over
	stacks  map[foundStack]uint64
}

// foundStack stands for the stack of what was found in a process.
type foundStack struct {
	pid  int32
	text string
}

// blanksAt follows where they begin and end.
func (r *root) blanksAt(b *event.Boundary) {
	last := len(r.blanks) - 1
	isOn := last >= 0 && !r.blanks[last].settled
	switch {
	case b.Kind == event.MeterSettled:
		if isOn && !r.shed[event.NumPy].now {
			r.blanks[last].settled = true
		}
		return
	case isOn || !slices.Contains(b.Group.Paused(), event.NumPy):
		return
	}
	one := blank{after: map[int32]*window{}}
	if b.Kind == event.MeterShed {
		one.segment = b.Segment
	}
	for _, p := range r.living {
		if cell := p.cellNow(); cell != nil && b.Kind == event.MeterShed {
			one.after[p.info.PID] = cell
		}
	}
	if len(r.blanks) == maxBlanks {
		r.blanks = slices.Delete(r.blanks, 0, 1)
	}
	r.blanks = append(r.blanks, one)
}

// blankOf is the one that a change is about which a search has led to; nil where it is not known any more.
func (r *root) blankOf(c *event.Change) *blank {
	for i := range slices.Backward(r.blanks) {
		if b := &r.blanks[i]; b.segment < c.Segment {
			return b
		}
	}
	return nil
}

// finds names the stacks of blocks that searches have found.
type finds struct {
	processes *processes
	stacks    *stackTable
	count     int // so far
}

// stackOf returns the number of the stack of a block that a search has found: nobody knows who made it, but when.
func (f *finds) stackOf(r *root, c *event.Change) uint64 {
	b, p := r.blankOf(c), f.processes.byPID[c.PID]
	if b == nil || p == nil {
		return 0
	}
	key := foundStack{c.PID, words.FoundLater(c.Meter.String(), cellName(b.after[c.PID]), cellName(p.cellNow()))}
	if number, known := b.stacks[key]; known {
		return number
	}
	if f.count == maxFound {
		return 0
	}
	f.count++
	number := foundMark + uint64(f.count)
	if !f.stacks.add(&event.Stack{Number: number, PID: c.PID, Frames: []event.Frame{{Function: key.text}}}) {
		number = 0
	}
	if b.stacks == nil {
		b.stacks = map[foundStack]uint64{}
	}
	b.stacks[key] = number
	return number
}
