package windows

import (
	"ipytracer/event"
	"ipytracer/internal/words"
)

// FoundNames makes up stacks for blocks that searches have found.
type FoundNames struct {
	*State
	count int // number of made-up stacks so far
}

// StackOf returns the number of a made-up stack for a block that a search found after a pause, 0 for none. The stack
// that allocated the block is not known. The made-up stack names the cells between which the block came.
func (f *FoundNames) StackOf(r *Tree, c *event.Change) uint64 {
	pause, p := r.ArrayPauseOf(c), f.Processes.ByPID[c.PID]
	if pause == nil || p == nil {
		return 0
	}
	key := foundStack{c.PID, words.FoundLater(c.Meter.String(), CellName(pause.after[c.PID]), CellName(p.cellNow()))}
	if number, known := pause.stacks[key]; known {
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
	if pause.stacks == nil {
		pause.stacks = map[foundStack]uint64{}
	}
	pause.stacks[key] = number
	return number
}

const (
	// maxFound is the largest number of made-up stacks of a session. Blocks beyond it have stack 0.
	maxFound = 1 << 12
	// foundMark is added to the numbers of made-up stacks, which differ so from the numbers of real ones.
	foundMark = 0xf0d1_a7e4_0000_0000
)
