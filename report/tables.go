package report

import (
	"encoding/json"
	"fmt"
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

func (t *tables) frame(f *model.Frame) int {
	one := tabledFrame{
		t.name(f.Function), t.name(f.File), t.name(f.Module), t.name(f.Kernel), f.Native, f.Line, f.Execution, -1,
	}
	if f.ExecutionCount != nil {
		one.count = *f.ExecutionCount
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
	f := model.Frame{
		Function: t.names[one.function], File: t.names[one.file], Module: t.names[one.module],
		Kernel: t.names[one.kernel], Native: one.native, Line: one.line, Execution: one.execution,
	}
	if one.count >= 0 {
		f.ExecutionCount = &one.count
	}
	return f
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

type tabledAllocation struct {
	model.Allocation
	Stack int `json:"stack"`
}

type tabledWindow struct {
	model.Window
	Refused     []tabledRefusal    `json:"refused,omitempty"`
	Allocations []tabledAllocation `json:"allocations,omitempty"`
}

type tabledBetween struct {
	model.Between
	Refused []tabledRefusal `json:"refused,omitempty"`
}

type tabledLine struct {
	model.Line
	Frame int `json:"frame"`
}

type tabledTensors struct {
	model.Tensors
	Stack int `json:"stack"`
}

type tabledVariable struct {
	model.Variable
	Stack int `json:"stack"`
}

type tabledVerdict struct {
	model.Verdict
	Stack int `json:"stack"`
}

type tabledLive struct {
	model.LiveBlocks
	Stack int `json:"stack"`
}

// wire returns an item of a list as it is in JSON, with no list or map of it nil; see [encoder] for the frequent ones.
func (t *tables) wire(item any) any {
	switch x := item.(type) {
	case model.Line:
		return tabledLine{x, t.frame(&x.Frame)}
	case model.Tensors:
		return tabledTensors{x, t.stack(x.Stack, false)}
	case model.Variable:
		return tabledVariable{x, t.stack(x.Stack, false)}
	case model.Kernel:
		return t.kernel(x)
	case model.Verdict:
		x.Executions, x.ExecutionCounts = list(x.Executions), list(x.ExecutionCounts)
		return tabledVerdict{x, t.stack(x.Stack, false)}
	case model.LiveBlocks:
		x.Executions, x.ExecutionCounts = list(x.Executions), list(x.ExecutionCounts)
		return tabledLive{x, t.stack(x.Stack, false)}
	}
	return item
}

// read are the tables of a document during reading. An index that is out of range is an error of the whole document.
type read struct {
	Frames []model.Frame `json:"frames"`
	Stacks []tabledStack `json:"stacks"`
	known  map[int][]model.Frame
	err    error
}

func (r *read) frame(at int) model.Frame {
	if at < 0 || at >= len(r.Frames) {
		r.err = fmt.Errorf("frame %d is not in frames[]", at)
		return model.Frame{}
	}
	return r.Frames[at]
}

func (r *read) stack(at int) (frames []model.Frame, truncated bool) {
	if at < 0 || at >= len(r.Stacks) {
		r.err = fmt.Errorf("stack %d is not in stacks[]", at)
		return []model.Frame{}, false
	}
	frames, known := r.known[at]
	if !known {
		frames = make([]model.Frame, len(r.Stacks[at].Frames))
		for i, f := range r.Stacks[at].Frames {
			frames[i] = r.frame(f)
		}
		if r.known == nil {
			r.known = map[int][]model.Frame{}
		}
		r.known[at] = frames
	}
	return frames, r.Stacks[at].Truncated
}

func (r *read) variables(all []tabledVariable) (out []model.Variable) {
	for _, one := range all {
		one.Variable.Stack, _ = r.stack(one.Stack)
		out = append(out, one.Variable)
	}
	return out
}

// ReadJSON reads the output of [JSON], with every stack in its place.
func ReadJSON(data []byte) (*model.Report, error) {
	type bare model.Report
	var doc struct {
		bare
		read
		Windows   []tabledWindow   `json:"windows"`
		Between   []tabledBetween  `json:"between"`
		Lines     []tabledLine     `json:"lines"`
		Tensors   []tabledTensors  `json:"tensors"`
		Variables []tabledVariable `json:"variables"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	r := model.Report(doc.bare)
	for _, w := range doc.Windows {
		w.Window.Refused = doc.refused(w.Refused)
		for _, a := range w.Allocations {
			a.Allocation.Stack, a.StackTruncated = doc.stack(a.Stack)
			w.Window.Allocations = append(w.Window.Allocations, a.Allocation)
		}
		r.Windows = append(r.Windows, w.Window)
	}
	for _, b := range doc.Between {
		b.Between.Refused = doc.refused(b.Refused)
		r.Between = append(r.Between, b.Between)
	}
	for _, l := range doc.Lines {
		l.Line.Frame = doc.frame(l.Frame)
		r.Lines = append(r.Lines, l.Line)
	}
	for _, one := range doc.Tensors {
		one.Tensors.Stack, _ = doc.stack(one.Stack)
		r.Tensors = append(r.Tensors, one.Tensors)
	}
	r.Variables = doc.variables(doc.Variables)
	return &r, doc.err
}

// ReadAuditJSON reads the output of [AuditJSON], with every stack in its place.
func ReadAuditJSON(data []byte) (*model.Audit, error) {
	type bare model.Audit
	var doc struct {
		bare
		read
		Verdicts  []tabledVerdict  `json:"verdicts"`
		Live      []tabledLive     `json:"live"`
		Variables []tabledVariable `json:"variables"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	a := model.Audit(doc.bare)
	for _, v := range doc.Verdicts {
		v.Verdict.Stack, _ = doc.stack(v.Stack)
		a.Verdicts = append(a.Verdicts, v.Verdict)
	}
	for _, l := range doc.Live {
		l.LiveBlocks.Stack, _ = doc.stack(l.Stack)
		a.Live = append(a.Live, l.LiveBlocks)
	}
	a.Variables = doc.variables(doc.Variables)
	return &a, doc.err
}
