package report

import (
	"hash/maphash"
	"slices"

	"ipytracer/model"
)

// In JSON every stack is a number: its place in stacks[], a list of places in frames[]. The model has the frames
// themselves; this file converts between the two. Stack 0 is the empty one: not known.

// tables are the stacks and frames of a document so far. A long session has hundreds of thousands: each takes tens of
// bytes here, and holds no pointer.
type tables struct {
	names   []string
	nameAt  map[string]uint32
	frames  []tabledFrame
	frameAt map[uint64]uint32 // by a hash; the next number if another frame has that
	calls   []uint32          // of all stacks, one after another: each a place in frames
	stacks  []extent
	stackAt map[uint64]uint32
	seed    maphash.Seed
	key     []uint32
	// recent are recently used stacks, by the address of their frames: neighbouring windows share them.
	recent [recentStacks]recentStack
}

// recentStacks is the number of remembered stacks, a power of two.
const recentStacks = 1 << 10

// recentStack is a list of frames, which does not change, and its number.
type recentStack struct {
	frames    []model.Frame
	truncated bool
	at        int
}

// tabledStack is an item of stacks[]: innermost call first.
type tabledStack struct {
	Frames []int `json:"frames"`
	// Truncated: there were more calls further out.
	Truncated bool `json:"truncated,omitempty"`
}

// tabledFrame is a frame, its texts by their places in names. count is In[N], -1 for none.
type tabledFrame struct {
	function, file, module, kernel uint32
	native                         bool
	line, execution, count         int
}

// extent is the place of a stack's calls.
type extent struct {
	first, count uint32
	truncated    bool
}

func newTables() *tables {
	t := &tables{
		nameAt: map[string]uint32{}, frameAt: map[uint64]uint32{}, stackAt: map[uint64]uint32{},
		seed: maphash.MakeSeed(),
	}
	t.stack(nil, false)
	return t
}

func (t *tables) name(text string) uint32 {
	at, known := t.nameAt[text]
	if !known {
		at = uint32(len(t.names))
		t.nameAt[text] = at
		t.names = append(t.names, text)
	}
	return at
}

func (t *tables) frame(call *model.Frame) int {
	one := tabledFrame{
		t.name(call.Function), t.name(call.File), t.name(call.Module), t.name(call.Kernel), call.Native, call.Line,
		call.Execution, -1,
	}
	if call.ExecutionCount != nil {
		one.count = *call.ExecutionCount
	}
	for key := maphash.Comparable(t.seed, one); ; key++ {
		at, known := t.frameAt[key]
		if !known {
			t.frameAt[key] = uint32(len(t.frames))
			t.frames = append(t.frames, one)
			return len(t.frames) - 1
		}
		if t.frames[at] == one {
			return int(at)
		}
	}
}

// frameAs returns an item of frames[].
func (t *tables) frameAs(one *tabledFrame) model.Frame {
	frame := model.Frame{
		Function: t.names[one.function], File: t.names[one.file], Module: t.names[one.module],
		Kernel: t.names[one.kernel], Native: one.native, Line: one.line, Execution: one.execution,
	}
	if one.count >= 0 {
		frame.ExecutionCount = &one.count
	}
	return frame
}

func (t *tables) stack(frames []model.Frame, truncated bool) int {
	if len(frames) == 0 {
		return t.find(frames, truncated)
	}
	r := &t.recent[maphash.Comparable(t.seed, &frames[0])%recentStacks]
	if len(r.frames) != len(frames) || &r.frames[0] != &frames[0] || r.truncated != truncated {
		*r = recentStack{frames, truncated, t.find(frames, truncated)}
	}
	return r.at
}

// find returns the number of a stack, a new one if it has none yet.
func (t *tables) find(frames []model.Frame, truncated bool) int {
	t.key = t.key[:0]
	for i := range frames {
		t.key = append(t.key, uint32(t.frame(&frames[i])))
	}
	for key := t.hash(truncated); ; key++ {
		at, known := t.stackAt[key]
		if !known {
			t.stackAt[key] = uint32(len(t.stacks))
			t.stacks = append(t.stacks, extent{uint32(len(t.calls)), uint32(len(frames)), truncated})
			t.calls = append(t.calls, t.key...)
			return len(t.stacks) - 1
		}
		if same := &t.stacks[at]; same.truncated == truncated && slices.Equal(t.callsOf(same), t.key) {
			return int(at)
		}
	}
}

func (t *tables) callsOf(s *extent) []uint32 { return t.calls[s.first:][:s.count] }

// hash returns a hash of the stack in key.
func (t *tables) hash(truncated bool) uint64 {
	var h maphash.Hash
	h.SetSeed(t.seed)
	maphash.WriteComparable(&h, truncated)
	for _, call := range t.key {
		maphash.WriteComparable(&h, call)
	}
	return h.Sum64()
}

// The parts of the model with stacks, as they are in JSON: a field of the outer struct hides that of the embedded one.

// list copies a slice; nil becomes empty.
func list[T any](items []T) []T { return append(make([]T, 0, len(items)), items...) }
