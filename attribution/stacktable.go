package attribution

import (
	"encoding/binary"

	"ipytracer/tracer/event"
)

// stackTable has the stacks that were told, each call once: a session has many stacks of few calls. Stacks of the same lines are one:
// two instructions of a line have stacks of their own.
type stackTable struct {
	stacks map[uint64]*stack
	known  map[string]*stack // by its calls
	frames []event.Frame
	at     map[event.Frame]uint32
	used   int // calls of all stacks
}

// stack is one of them, innermost call first.
type stack struct {
	number uint64 // of the first that was told
	pid    int32
	more   bool // there were more calls further out
	frames []uint32
}

func newStackTable() stackTable {
	return stackTable{stacks: map[uint64]*stack{}, known: map[string]*stack{}, at: map[event.Frame]uint32{}}
}

// add takes a stack in; false if there is no room for it.
func (t *stackTable) add(s *event.Stack) bool {
	if t.used += len(s.Frames); t.used > maxFrames {
		return false
	}
	one := &stack{pid: s.PID, more: s.More, frames: make([]uint32, len(s.Frames))}
	key := make([]byte, 0, 4*len(s.Frames)+5)
	for i, f := range s.Frames {
		at, known := t.at[f]
		if !known {
			at = uint32(len(t.frames))
			t.at[f] = at
			t.frames = append(t.frames, f)
		}
		one.frames[i] = at
		key = binary.LittleEndian.AppendUint32(key, at)
	}
	key = binary.LittleEndian.AppendUint32(key, uint32(s.PID))
	if s.More {
		key = append(key, 1)
	}
	if same := t.known[string(key)]; same != nil {
		one = same
	} else {
		one.number = s.Number
		t.known[string(key)] = one
	}
	t.stacks[s.Number] = one
	return true
}

// of is a stack by its number, nil for none.
func (t *stackTable) of(number uint64) *stack { return t.stacks[number] }
