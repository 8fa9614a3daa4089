package report

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// In JSON every stack is a number: its place in stacks[], where it is a list of places in frames[]. The model has the frames
// themselves; what is here turns one into the other. Stack 0 is the empty one: not known.

// tables are the stacks and frames that a document has referred to so far.
type tables struct {
	frames  []Frame
	stacks  []tabledStack
	frameAt map[frameKey]int
	stackAt map[string]int
}

// tabledStack is an item of stacks[]: innermost call first.
type tabledStack struct {
	Frames []int `json:"frames"`
	// Truncated: there were more calls further out.
	Truncated bool `json:"truncated,omitempty"`
}

// frameKey is a frame by value.
type frameKey struct {
	Frame
	count int // In[N], -1 for none
}

func newTables() tables {
	t := tables{frames: []Frame{}, frameAt: map[frameKey]int{}, stackAt: map[string]int{}}
	t.stack(nil, false)
	return t
}

func (t *tables) frame(f Frame) int {
	key := frameKey{f, -1}
	if f.ExecutionCount != nil {
		key.count, key.ExecutionCount = *f.ExecutionCount, nil
	}
	at, known := t.frameAt[key]
	if !known {
		at = len(t.frames)
		t.frameAt[key] = at
		t.frames = append(t.frames, f)
	}
	return at
}

func (t *tables) stack(frames []Frame, truncated bool) int {
	one := tabledStack{make([]int, len(frames)), truncated}
	key := make([]byte, 0, 2*len(frames)+1)
	for i, f := range frames {
		one.Frames[i] = t.frame(f)
		key = binary.AppendUvarint(key, uint64(one.Frames[i]))
	}
	if truncated {
		key = append(key, 0xff) // no number ends so
	}
	at, known := t.stackAt[string(key)]
	if !known {
		at = len(t.stacks)
		t.stackAt[string(key)] = at
		t.stacks = append(t.stacks, one)
	}
	return at
}

// What follows are the parts of the model that have stacks, as they are in JSON: a field of the outer struct hides that of the
// embedded one.

type tabledAllocation struct {
	Allocation
	Stack int `json:"stack"`
}

type tabledRefusal struct {
	Refusal
	Stack int `json:"stack,omitempty"`
}

type tabledWindow struct {
	Window
	Refused     []tabledRefusal    `json:"refused,omitempty"`
	Allocations []tabledAllocation `json:"allocations,omitempty"`
}

type tabledBetween struct {
	Between
	Refused []tabledRefusal `json:"refused,omitempty"`
}

type tabledLine struct {
	Line
	Frame int `json:"frame"`
}

type tabledTensors struct {
	Tensors
	Stack int `json:"stack"`
}

type tabledVariable struct {
	Variable
	Stack int `json:"stack"`
}

type tabledVerdict struct {
	Verdict
	Stack int `json:"stack"`
}

type tabledLive struct {
	LiveBlocks
	Stack int `json:"stack"`
}

// wire is an item of a list as it is in JSON, with no list or map of it nil.
func (t *tables) wire(item any) any {
	switch x := item.(type) {
	case Window:
		x.Meters, x.Children = figures(x.Meters), list(x.Children)
		for i := range x.Children {
			x.Children[i].Meters = figures(x.Children[i].Meters)
		}
		w := tabledWindow{Window: x, Refused: t.refused(x.Refused)}
		for _, a := range x.Allocations {
			w.Allocations = append(w.Allocations, tabledAllocation{a, t.stack(a.Stack, a.StackTruncated)})
		}
		return w
	case Between:
		x.Meters = figures(x.Meters)
		return tabledBetween{x, t.refused(x.Refused)}
	case Line:
		return tabledLine{x, t.frame(x.Frame)}
	case Tensors:
		return tabledTensors{x, t.stack(x.Stack, false)}
	case Variable:
		return tabledVariable{x, t.stack(x.Stack, false)}
	case Verdict:
		x.Executions, x.ExecutionCounts = list(x.Executions), list(x.ExecutionCounts)
		return tabledVerdict{x, t.stack(x.Stack, false)}
	case LiveBlocks:
		x.Executions, x.ExecutionCounts = list(x.Executions), list(x.ExecutionCounts)
		return tabledLive{x, t.stack(x.Stack, false)}
	}
	return item
}

func (t *tables) refused(all []Refusal) (out []tabledRefusal) {
	for _, r := range all {
		out = append(out, tabledRefusal{r, t.stack(r.Stack, false)})
	}
	return out
}

// read are the tables of a document that is read. An index that is out of range is an error of the whole document.
type read struct {
	Frames []Frame       `json:"frames"`
	Stacks []tabledStack `json:"stacks"`
	known  map[int][]Frame
	err    error
}

func (r *read) frame(at int) Frame {
	if at < 0 || at >= len(r.Frames) {
		r.err = fmt.Errorf("frame %d is not in frames[]", at)
		return Frame{}
	}
	return r.Frames[at]
}

func (r *read) stack(at int) (frames []Frame, truncated bool) {
	if at < 0 || at >= len(r.Stacks) {
		r.err = fmt.Errorf("stack %d is not in stacks[]", at)
		return []Frame{}, false
	}
	frames, known := r.known[at]
	if !known {
		frames = make([]Frame, len(r.Stacks[at].Frames))
		for i, f := range r.Stacks[at].Frames {
			frames[i] = r.frame(f)
		}
		if r.known == nil {
			r.known = map[int][]Frame{}
		}
		r.known[at] = frames
	}
	return frames, r.Stacks[at].Truncated
}

func (r *read) refused(all []tabledRefusal) (out []Refusal) {
	for _, one := range all {
		if one.Stack != 0 {
			one.Refusal.Stack, _ = r.stack(one.Stack)
		}
		out = append(out, one.Refusal)
	}
	return out
}

func (r *read) variables(all []tabledVariable) (out []Variable) {
	for _, one := range all {
		one.Variable.Stack, _ = r.stack(one.Stack)
		out = append(out, one.Variable)
	}
	return out
}

// UnmarshalJSON reads what [JSON] writes, with every stack in its place.
func (r *Report) UnmarshalJSON(data []byte) error {
	type bare Report
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
		return err
	}
	*r = Report(doc.bare)
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
	return doc.err
}

// UnmarshalJSON reads what [AuditJSON] writes, with every stack in its place.
func (a *Audit) UnmarshalJSON(data []byte) error {
	type bare Audit
	var doc struct {
		bare
		read
		Verdicts  []tabledVerdict  `json:"verdicts"`
		Live      []tabledLive     `json:"live"`
		Variables []tabledVariable `json:"variables"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	*a = Audit(doc.bare)
	for _, v := range doc.Verdicts {
		v.Verdict.Stack, _ = doc.stack(v.Stack)
		a.Verdicts = append(a.Verdicts, v.Verdict)
	}
	for _, l := range doc.Live {
		l.LiveBlocks.Stack, _ = doc.stack(l.Stack)
		a.Live = append(a.Live, l.LiveBlocks)
	}
	a.Variables = doc.variables(doc.Variables)
	return doc.err
}
