// Package stacks keeps the stacks that allocated. For each stack it has the bytes that processes hold and that windows
// saw allocated and freed.
package stacks

import (
	"hash/maphash"
	"slices"

	"ipytracer/event"
)

// Table has the stacks that were streamed, and each call once: a session has many stacks of few calls. The kernel half
// sends a stack for each instruction of a line; stacks with the same lines become one here. The lists have no pointers,
// so many stacks cost the garbage collector nothing.
type Table struct {
	Stacks []Stack
	known  finder // finds stacks by their calls
	firsts finder // finds stacks by the number that was streamed first with their calls
	// sampled are the numbers that stand for stacks of blocks that are samples, see [SampleMark], and the most bytes
	// that one of each stood for.
	sampled map[uint64]event.Bytes
	// Repeated has the places in Stacks, by number, of stacks with the same calls as an earlier stack, and of stacks
	// that were streamed again with other calls.
	Repeated map[uint64]uint32
	Calls    []uint32 // the calls of all stacks, one stack after another, as indexes into Frames
	Frames   []frame
	framed   finder // finds frames
	Names    []string
	NameAt   map[string]uint32
	seed     maphash.Seed
	factors  [2]uint64 // of hashOf
	Text     int       // bytes of all names
	Room     Room
	// Era counts how often stacks have been sent again, see [Monitor.Forgotten]; swept is the era of the last sweep.
	Era, swept uint8
	Dropped    int  // stacks that found no room
	isClosed   bool // the stacks are not needed any more
	// recent caches the places of stacks that were looked up a short while ago: most windows need the same stacks,
	// those that hold most.
	recent [recents]struct {
		number uint64
		at     uint32 // place in Stacks, from 1
	}
}

// recents is the length of Table.recent, a power of two.
const recents = 1 << 10

// Stack is one stack, innermost call first.
type Stack struct {
	Number       uint64 // the number that was streamed first with these calls
	PID          int32
	First, Count uint32 // its calls are Calls[First:First+Count]
	More         bool   // there were more calls further out
	era          uint8  // the table's Era when the stack was last streamed
}

// frame is a call. function, File and module are indexes into Table.Names.
type frame struct {
	function, File, module uint32
	line, Input            int32
	Native                 bool
}

// NewTable returns a table without stacks.
func NewTable(room Room) *Table {
	seed := maphash.MakeSeed()
	return &Table{
		Repeated: map[uint64]uint32{}, NameAt: map[string]uint32{}, seed: seed, Room: room,
		factors: [2]uint64{maphash.Comparable(seed, 0) | 1, maphash.Comparable(seed, 1) | 1},
	}
}

// AddOrDrop adds a stack, or counts it as dropped if there is no room.
func (t *Table) AddOrDrop(s *event.Stack) {
	if !t.isClosed && !t.Add(s) {
		t.Dropped++
	}
}

// Add adds a stack. It returns false if there is no room.
func (t *Table) Add(s *event.Stack) bool {
	if len(t.Calls)+len(s.Frames) > t.Room.Frames || len(t.Stacks)+len(t.Repeated) >= t.Room.Stacks ||
		t.Text > t.Room.Text {
		return false
	}
	before, streamed := t.PlaceOf(s.Number)
	stack := Stack{Number: s.Number, PID: s.PID, First: uint32(len(t.Calls)), Count: uint32(len(s.Frames)),
		More: s.More, era: t.Era}
	for _, f := range s.Frames {
		t.Calls = append(t.Calls, t.call(f))
	}
	if i, known := t.known.find(t.hash(&stack), func(i uint32) bool { return t.isSame(&t.Stacks[i], &stack) }); known {
		if !streamed || before != i {
			t.Repeated[s.Number] = i
		}
		t.Calls, t.Stacks[i].era = t.Calls[:stack.First], t.Era
		return true
	}
	at := uint32(len(t.Stacks))
	t.Stacks = append(t.Stacks, stack)
	t.known.add(at, func(i uint32) uint64 { return t.hash(&t.Stacks[i]) })
	if streamed { // the number stands for the calls that were streamed last
		t.Repeated[s.Number] = at
	} else {
		t.firsts.add(at, func(i uint32) uint64 { return t.hashOf(t.Stacks[i].Number) })
	}
	return true
}

// hashOf returns a hash of a number: two products with secret odd factors.
func (t *Table) hashOf(number uint64) uint64 {
	number *= t.factors[0]
	return (number ^ number>>32) * t.factors[1]
}

// PlaceOf returns the place in Stacks, from 0, of the stack with a number.
func (t *Table) PlaceOf(number uint64) (uint32, bool) {
	if len(t.Repeated) > 0 {
		if i, known := t.Repeated[number]; known {
			return i, true
		}
	}
	return t.firstOf(number)
}

// firstOf returns the place in Stacks, from 0, of the stack whose calls were streamed first with this number. That
// place never changes.
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

// call returns the index of a frame in Frames, and adds a new one.
func (t *Table) call(f event.Frame) uint32 {
	call := frame{t.name(f.Function), t.name(f.File), t.name(f.Module), f.Line, max(f.Input, 0), f.Native}
	if at, known := t.framed.find(maphash.Comparable(t.seed, call),
		func(at uint32) bool { return t.Frames[at] == call }); known {
		return at
	}
	at := uint32(len(t.Frames))
	t.Frames = append(t.Frames, call)
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

// Place returns the place in Stacks, from 1, of the stack with a number or the number of its samples; 0 for none.
func (t *Table) Place(number uint64) uint32 {
	if t.IsSampled(number) {
		number ^= SampleMark
	}
	entry := &t.recent[number%recents]
	if entry.number == number && entry.at > 0 {
		return entry.at
	}
	i, known := t.PlaceOf(number)
	if !known {
		return 0
	}
	entry.number, entry.at = number, i+1
	return entry.at
}

// SampleMark makes another number for a stack, by exclusive or: it stands for the stack's sampled blocks.
const SampleMark = 0x5a4d_504c_e5a4_d50d

// maxSampled bounds the numbers of samples. Samples of further stacks all have the number SampleMark, of no stack.
const maxSampled = 1 << 17

// Sample returns the number that stands for the sampled blocks of a stack. represents is the sum of the blocks that one
// of them stands for, in bytes.
func (t *Table) Sample(stack uint64, represents event.Bytes) uint64 {
	number := stack ^ SampleMark
	most, known := t.sampled[number]
	if !known {
		if t.sampled == nil {
			t.sampled = map[uint64]event.Bytes{SampleMark: 0}
		}
		if len(t.sampled) >= maxSampled {
			number = SampleMark
			most = t.sampled[number]
		}
	}
	if !known || represents > most {
		t.sampled[number] = max(most, represents)
	}
	return number
}

// IsSampled reports whether a number stands for the sampled blocks of a stack.
func (t *Table) IsSampled(stack uint64) bool {
	if len(t.sampled) == 0 {
		return false
	}
	_, known := t.sampled[stack]
	return known
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
