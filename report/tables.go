package report

import (
	"hash/maphash"
	"slices"

	"ipytracer/model"
)

// In JSON a stack is a number: its index in stacks[]. An item of stacks[] is a list of indices in frames[]. The model
// has the frames themselves. Stack 0 is empty: it is not known.

// tables are the stacks and frames of a document so far. A long session has hundreds of thousands of stacks, so each
// takes only tens of bytes, and no pointer.
type tables struct {
	names   []string
	nameAt  map[string]uint32
	frames  []tabledFrame
	frameAt map[uint64]uint32 // by hash; if another frame has the hash, by the next free number
	calls   []uint32          // the calls of all stacks, one stack after another, as indices in frames
	stacks  []extent
	stackAt map[uint64]uint32 // by hash, like frameAt
	seed    maphash.Seed
	key     []uint32 // the calls of the stack that find looks for
	// recent are recently used stacks, by the address of their frames: neighbouring windows share frames.
	recent [recentStacks]recentStack
}

// recentStacks is the number of remembered stacks.
const recentStacks = 1 << 10

// recentStack is a stack with its number. Its frames must not change.
type recentStack struct {
	frames    []model.Frame
	truncated bool
	number    int
}

// tabledStack is an item of stacks[]: innermost call first.
type tabledStack struct {
	Frames []int `json:"frames"`
	// Truncated: there were more calls further out.
	Truncated bool `json:"truncated,omitempty"`
}

// tabledFrame is a frame without pointers.
type tabledFrame struct {
	function, file, module, kernel uint32 // indices in names
	native                         bool
	line, execution                int
	count                          int // In[N], -1 for none
}

// extent is the place of a stack's calls in tables.calls.
type extent struct {
	first, count uint32
	truncated    bool
}

// newTables returns tables with the empty stack, which has number 0.
func newTables() *tables {
	t := &tables{
		nameAt: map[string]uint32{}, frameAt: map[uint64]uint32{}, stackAt: map[uint64]uint32{},
		seed: maphash.MakeSeed(),
	}
	t.stack(nil, false)
	return t
}

// name returns the index of a text in names. It adds a new text.
func (t *tables) name(text string) uint32 {
	index, known := t.nameAt[text]
	if !known {
		index = uint32(len(t.names))
		t.nameAt[text] = index
		t.names = append(t.names, text)
	}
	return index
}

// frame returns the index of a frame in frames. It adds a new frame.
func (t *tables) frame(call *model.Frame) int {
	frame := tabledFrame{
		t.name(call.Function), t.name(call.File), t.name(call.Module), t.name(call.Kernel), call.Native, call.Line,
		call.Execution, -1,
	}
	if call.ExecutionCount != nil {
		frame.count = *call.ExecutionCount
	}
	for key := maphash.Comparable(t.seed, frame); ; key++ {
		index, known := t.frameAt[key]
		if !known {
			t.frameAt[key] = uint32(len(t.frames))
			t.frames = append(t.frames, frame)
			return len(t.frames) - 1
		}
		if t.frames[index] == frame {
			return int(index)
		}
	}
}

// frameAs returns a frame of the tables as the model has it.
func (t *tables) frameAs(f *tabledFrame) model.Frame {
	frame := model.Frame{
		Function: t.names[f.function], File: t.names[f.file], Module: t.names[f.module],
		Kernel: t.names[f.kernel], Native: f.native, Line: f.line, Execution: f.execution,
	}
	if f.count >= 0 {
		frame.ExecutionCount = &f.count
	}
	return frame
}

// stack is [tables.find] with a cache of recently used stacks.
func (t *tables) stack(frames []model.Frame, truncated bool) int {
	if len(frames) == 0 {
		return t.find(frames, truncated)
	}
	r := &t.recent[maphash.Comparable(t.seed, &frames[0])%recentStacks]
	isSame := len(r.frames) == len(frames) && &r.frames[0] == &frames[0] && r.truncated == truncated
	if !isSame {
		*r = recentStack{frames, truncated, t.find(frames, truncated)}
	}
	return r.number
}

// find returns the number of a stack. It adds a new stack.
func (t *tables) find(frames []model.Frame, truncated bool) int {
	t.key = t.key[:0]
	for i := range frames {
		t.key = append(t.key, uint32(t.frame(&frames[i])))
	}
	for key := t.hash(truncated); ; key++ {
		number, known := t.stackAt[key]
		if !known {
			t.stackAt[key] = uint32(len(t.stacks))
			t.stacks = append(t.stacks, extent{uint32(len(t.calls)), uint32(len(frames)), truncated})
			t.calls = append(t.calls, t.key...)
			return len(t.stacks) - 1
		}
		if found := &t.stacks[number]; found.truncated == truncated && slices.Equal(t.callsOf(found), t.key) {
			return int(number)
		}
	}
}

// callsOf returns the calls of a stack, as indices in frames.
func (t *tables) callsOf(s *extent) []uint32 { return t.calls[s.first:][:s.count] }

// hash returns a hash of the stack in t.key.
func (t *tables) hash(truncated bool) uint64 {
	var h maphash.Hash
	h.SetSeed(t.seed)
	maphash.WriteComparable(&h, truncated)
	for _, call := range t.key {
		maphash.WriteComparable(&h, call)
	}
	return h.Sum64()
}

// list copies a slice. The copy of nil is empty, not nil.
func list[T any](items []T) []T { return append(make([]T, 0, len(items)), items...) }
