// Package stacks keeps the stacks that allocated, and by stack the bytes that processes hold and that windows saw
// allocated and freed.
package stacks

import (
	"hash/maphash"
	"slices"

	"ipytracer/event"
)

// Table has the stacks that were streamed, and each call once: a session has many stacks of few calls. Stacks of
// the same lines are one: two instructions of a line have stacks of their own. Nothing in it has pointers, so that many
// stacks cost the garbage collector nothing.
type Table struct {
	Stacks []Stack
	known  finder // of stacks, by their calls
	firsts finder // of stacks, by their numbers
	// sampled are the numbers that stand for stacks of blocks that are samples: see [SampleMark].
	sampled map[uint64]struct{}
	// Repeated has places in stacks, by number, of stacks with the same calls as an earlier one, or that were streamed
	// again
	Repeated map[uint64]uint32
	Calls    []uint32 // of all stacks, one after another
	Frames   []frame
	framed   finder // of frames
	Names    []string
	NameAt   map[string]uint32
	seed     maphash.Seed
	Text     int // bytes of all names
	Room     Room
	// Era counts how often stacks have been sent again, see [Monitor.Forgotten]; swept is the era of the last sweep.
	Era, swept uint8
	Dropped    int  // stacks that found no room
	isClosed   bool // the stacks are not needed any more
	// recent are stacks that were looked up a short while ago: a window needs the stacks that hold most, and the next
	// window needs the same ones.
	recent [recents]struct {
		number uint64
		at     uint32 // in stacks, from 1
	}
}

// recents is the size of recent, a power of two.
const recents = 1 << 10

// Stack is one stack, innermost call first.
type Stack struct {
	Number       uint64 // of the first that was streamed with these calls
	PID          int32
	First, Count uint32
	More         bool  // there were more calls further out
	era          uint8 // of the table, when it was last streamed
}

// frame is a call; its names are indexes into names of the table.
type frame struct {
	function, File, module uint32
	line, Input            int32
	Native                 bool
}

// NewTable returns a table without stacks.
func NewTable(room Room) *Table {
	return &Table{
		Repeated: map[uint64]uint32{}, NameAt: map[string]uint32{}, seed: maphash.MakeSeed(), Room: room,
	}
}

// Take adds a stack, or counts it where there is no room.
func (t *Table) Take(s *event.Stack) {
	if !t.isClosed && !t.Add(s) {
		t.Dropped++
	}
}

// Add adds a stack; it returns false if there is no room for it.
func (t *Table) Add(s *event.Stack) bool {
	if len(t.Calls)+len(s.Frames) > t.Room.Frames || len(t.Stacks)+len(t.Repeated) >= t.Room.Stacks ||
		t.Text > t.Room.Text {
		return false
	}
	before, streamed := t.PlaceOf(s.Number)
	one := Stack{Number: s.Number, PID: s.PID, First: uint32(len(t.Calls)), Count: uint32(len(s.Frames)), More: s.More,
		era: t.Era}
	for _, f := range s.Frames {
		t.Calls = append(t.Calls, t.call(f))
	}
	if i, known := t.known.find(t.hash(&one), func(i uint32) bool { return t.isSame(&t.Stacks[i], &one) }); known {
		if !streamed || before != i {
			t.Repeated[s.Number] = i
		}
		t.Calls, t.Stacks[i].era = t.Calls[:one.First], t.Era
		return true
	}
	at := uint32(len(t.Stacks))
	t.Stacks = append(t.Stacks, one)
	t.known.add(at, func(i uint32) uint64 { return t.hash(&t.Stacks[i]) })
	if streamed { // the last calls that were streamed for a number count
		t.Repeated[s.Number] = at
	} else {
		t.firsts.add(at, func(i uint32) uint64 { return t.hashOf(t.Stacks[i].Number) })
	}
	return true
}

func (t *Table) hashOf(number uint64) uint64 { return maphash.Comparable(t.seed, number) }

// PlaceOf returns the place in stacks of the stack with a number.
func (t *Table) PlaceOf(number uint64) (uint32, bool) {
	if len(t.Repeated) > 0 {
		if i, known := t.Repeated[number]; known {
			return i, true
		}
	}
	return t.firstOf(number)
}

// firstOf returns the place in stacks of the stack with a number, if it was the first to be streamed with its calls.
// That place never changes.
func (t *Table) firstOf(number uint64) (uint32, bool) {
	return t.firsts.find(t.hashOf(number), func(i uint32) bool { return t.Stacks[i].Number == number })
}

// isSame reports whether two stacks have the same calls.
func (t *Table) isSame(a, b *Stack) bool {
	return a.PID == b.PID && a.More == b.More && slices.Equal(t.CallsOf(a), t.CallsOf(b))
}

func (t *Table) hash(s *Stack) uint64 {
	var h maphash.Hash
	h.SetSeed(t.seed)
	maphash.WriteComparable(&h, s.PID)
	maphash.WriteComparable(&h, s.More)
	for _, call := range t.CallsOf(s) {
		maphash.WriteComparable(&h, call)
	}
	return h.Sum64()
}

// call returns the index of a frame in frames, added if new.
func (t *Table) call(f event.Frame) uint32 {
	one := frame{t.name(f.Function), t.name(f.File), t.name(f.Module), f.Line, max(f.Input, 0), f.Native}
	if at, known := t.framed.find(maphash.Comparable(t.seed, one),
		func(at uint32) bool { return t.Frames[at] == one }); known {
		return at
	}
	at := uint32(len(t.Frames))
	t.Frames = append(t.Frames, one)
	t.framed.add(at, func(at uint32) uint64 { return maphash.Comparable(t.seed, t.Frames[at]) })
	return at
}

func (t *Table) name(text string) uint32 {
	at, known := t.NameAt[text]
	if !known {
		at = uint32(len(t.Names))
		t.NameAt[text] = at
		t.Names = append(t.Names, text)
		t.Text += len(text)
	}
	return at
}

// CallsOf returns the calls of a stack, see [Table.Frame].
func (t *Table) CallsOf(s *Stack) []uint32 { return t.Calls[s.First:][:s.Count:s.Count] }

// Frame returns a call with its names.
func (t *Table) Frame(call uint32) event.Frame {
	f := t.Frames[call]
	return event.Frame{Function: t.Names[f.function], File: t.Names[f.File], Module: t.Names[f.module], Line: f.line,
		Input: f.Input, Native: f.Native}
}

// Of returns the stack with a number, nil for none.
func (t *Table) Of(number uint64) *Stack {
	if place := t.Place(number); place > 0 {
		return &t.Stacks[place-1]
	}
	return nil
}

// Place returns the place in stacks, from 1, of the stack with a number; 0 for none.
func (t *Table) Place(number uint64) uint32 {
	if _, sampled := t.sampled[number]; sampled {
		number ^= SampleMark
	}
	one := &t.recent[number%recents]
	if one.number == number && one.at > 0 {
		return one.at
	}
	i, known := t.PlaceOf(number)
	if !known {
		return 0
	}
	one.number, one.at = number, i+1
	return one.at
}

// SampleMark distinguishes the number of a stack of samples from that of the same stack of blocks that were all
// streamed.
const SampleMark = 0x5a4d_504c_e5a4_d50d

// maxSampled is the number of stacks of samples that are kept. Further ones are not known.
const maxSampled = 1 << 17

// Sample returns the number that stands for a stack where its blocks are samples.
func (t *Table) Sample(stack uint64) uint64 {
	number := stack ^ SampleMark
	if _, known := t.sampled[number]; !known {
		if t.sampled == nil {
			t.sampled = map[uint64]struct{}{SampleMark: {}}
		}
		if len(t.sampled) >= maxSampled {
			number = SampleMark
		}
		t.sampled[number] = struct{}{}
	}
	return number
}

// IsSampled reports whether a stack's number is that of samples.
func (t *Table) IsSampled(stack uint64) bool {
	_, is := t.sampled[stack]
	return is
}

// FramesOf returns the calls of a stack, the innermost first; none where it is not known.
func (t *Table) FramesOf(number uint64) (frames []event.Frame) {
	if s := t.Of(number); s != nil {
		for _, call := range t.CallsOf(s) {
			frames = append(frames, t.Frame(call))
		}
	}
	return frames
}

// Close drops all stacks; further ones are ignored.
func (t *Table) Close() {
	*t = *NewTable(t.Room)
	t.isClosed = true
}
