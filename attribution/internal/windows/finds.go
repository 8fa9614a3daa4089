package windows

import (
	"ipytracer/event"
	"ipytracer/internal/words"
)

// FoundNames gives names to the stacks of blocks that searches have found.
type FoundNames struct {
	*State
	count int // stacks so far
}

// StackOf returns the number of a made-up stack for a block that a later search found. Which stack allocated the block
// is not known: the made-up one names the time.
func (f *FoundNames) StackOf(r *Tree, c *event.Change) uint64 {
	b, p := r.ArrayPauseOf(c), f.Processes.ByPID[c.PID]
	if b == nil || p == nil {
		return 0
	}
	key := foundStack{c.PID, words.FoundLater(c.Meter.String(), CellName(b.after[c.PID]), CellName(p.cellNow()))}
	if number, known := b.stacks[key]; known {
		return number
	}
	if f.count == maxFound {
		return 0
	}
	f.count++
	number := foundMark + uint64(f.count)
	if !f.Stacks.Add(&event.Stack{Number: number, PID: c.PID, Frames: []event.Frame{{Function: key.text}}}) {
		number = 0
	}
	if b.stacks == nil {
		b.stacks = map[foundStack]uint64{}
	}
	b.stacks[key] = number
	return number
}

const (
	// maxFound is the most such stacks that a tracker has. Those beyond it have no name.
	maxFound = 1 << 12
	// foundMark is the first number of such a stack.
	foundMark = 0xf0d1_a7e4_0000_0000
)
