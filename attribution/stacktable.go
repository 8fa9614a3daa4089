package attribution

import (
	"hash/maphash"
	"slices"

	"ipytracer/event"
)

// stackTable has the stacks that were streamed, and each call once: a session has many stacks of few calls. Stacks of
// the same lines are one: two instructions of a line have stacks of their own. Nothing in it has pointers, so that many
// stacks cost the garbage collector nothing.
type stackTable struct {
	stacks []stack
	known  finder // of stacks, by their calls
	firsts finder // of stacks, by their numbers
	// sampled are the numbers that stand for stacks of blocks that are samples: see [sampleMark].
	sampled map[uint64]struct{}
	// also has places in stacks, by number, of stacks with the same calls as an earlier one, or that were streamed
	// again
	also   map[uint64]uint32
	calls  []uint32 // of all stacks, one after another
	frames []frame
	framed finder // of frames
	names  []string
	nameAt map[string]uint32
	seed   maphash.Seed
	text   int // bytes of all names
	room   room
	// era counts how often stacks have been sent again, see [Monitor.Forgotten]; swept is the era of the last sweep.
	era, swept uint8
	dropped    int  // stacks that found no room
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

// stack is one stack, innermost call first.
type stack struct {
	number       uint64 // of the first that was streamed with these calls
	pid          int32
	first, count uint32
	more         bool  // there were more calls further out
	era          uint8 // of the table, when it was last streamed
}

// frame is a call; its names are indexes into names of the table.
type frame struct {
	function, file, module uint32
	line, input            int32
	native                 bool
}

// Limits of a table. The kernel's has half as many stacks.
const (
	maxStacks    = 1 << 18
	maxStackText = 32 << 20
)

func newStackTable() *stackTable {
	return &stackTable{
		also: map[uint64]uint32{}, nameAt: map[string]uint32{}, seed: maphash.MakeSeed(), room: roomOfSession,
	}
}

// take adds a stack, or counts it where there is no room.
func (t *stackTable) take(s *event.Stack) {
	if !t.isClosed && !t.add(s) {
		t.dropped++
	}
}

// add adds a stack; it returns false if there is no room for it.
func (t *stackTable) add(s *event.Stack) bool {
	if len(t.calls)+len(s.Frames) > t.room.frames || len(t.stacks)+len(t.also) >= t.room.stacks ||
		t.text > t.room.text {
		return false
	}
	before, told := t.placeOf(s.Number)
	one := stack{number: s.Number, pid: s.PID, first: uint32(len(t.calls)), count: uint32(len(s.Frames)), more: s.More,
		era: t.era}
	for _, f := range s.Frames {
		t.calls = append(t.calls, t.call(f))
	}
	if i, known := t.known.find(t.hash(&one), func(i uint32) bool { return t.isSame(&t.stacks[i], &one) }); known {
		if !told || before != i {
			t.also[s.Number] = i
		}
		t.calls, t.stacks[i].era = t.calls[:one.first], t.era
		return true
	}
	at := uint32(len(t.stacks))
	t.stacks = append(t.stacks, one)
	t.known.add(at, func(i uint32) uint64 { return t.hash(&t.stacks[i]) })
	if told { // the last calls that were streamed for a number count
		t.also[s.Number] = at
	} else {
		t.firsts.add(at, func(i uint32) uint64 { return t.hashOf(t.stacks[i].number) })
	}
	return true
}

func (t *stackTable) hashOf(number uint64) uint64 { return maphash.Comparable(t.seed, number) }

// placeOf returns the place in stacks of the stack with a number.
func (t *stackTable) placeOf(number uint64) (uint32, bool) {
	if len(t.also) > 0 {
		if i, known := t.also[number]; known {
			return i, true
		}
	}
	return t.firstOf(number)
}

// firstOf returns the place in stacks of the stack with a number, if it was the first to be streamed with its calls.
// That place never changes.
func (t *stackTable) firstOf(number uint64) (uint32, bool) {
	return t.firsts.find(t.hashOf(number), func(i uint32) bool { return t.stacks[i].number == number })
}

// isSame reports whether two stacks have the same calls.
func (t *stackTable) isSame(a, b *stack) bool {
	return a.pid == b.pid && a.more == b.more && slices.Equal(t.callsOf(a), t.callsOf(b))
}

func (t *stackTable) hash(s *stack) uint64 {
	var h maphash.Hash
	h.SetSeed(t.seed)
	maphash.WriteComparable(&h, s.pid)
	maphash.WriteComparable(&h, s.more)
	for _, call := range t.callsOf(s) {
		maphash.WriteComparable(&h, call)
	}
	return h.Sum64()
}

// call returns the index of a frame in frames, added if new.
func (t *stackTable) call(f event.Frame) uint32 {
	one := frame{t.name(f.Function), t.name(f.File), t.name(f.Module), f.Line, max(f.Input, 0), f.Native}
	if at, known := t.framed.find(maphash.Comparable(t.seed, one),
		func(at uint32) bool { return t.frames[at] == one }); known {
		return at
	}
	at := uint32(len(t.frames))
	t.frames = append(t.frames, one)
	t.framed.add(at, func(at uint32) uint64 { return maphash.Comparable(t.seed, t.frames[at]) })
	return at
}

func (t *stackTable) name(text string) uint32 {
	at, known := t.nameAt[text]
	if !known {
		at = uint32(len(t.names))
		t.nameAt[text] = at
		t.names = append(t.names, text)
		t.text += len(text)
	}
	return at
}

// callsOf returns the calls of a stack, see [stackTable.frame].
func (t *stackTable) callsOf(s *stack) []uint32 { return t.calls[s.first:][:s.count:s.count] }

// frame returns a call with its names.
func (t *stackTable) frame(call uint32) event.Frame {
	f := t.frames[call]
	return event.Frame{Function: t.names[f.function], File: t.names[f.file], Module: t.names[f.module], Line: f.line,
		Input: f.input, Native: f.native}
}

// of returns the stack with a number, nil for none.
func (t *stackTable) of(number uint64) *stack {
	if place := t.place(number); place > 0 {
		return &t.stacks[place-1]
	}
	return nil
}

// place returns the place in stacks, from 1, of the stack with a number; 0 for none.
func (t *stackTable) place(number uint64) uint32 {
	if _, sampled := t.sampled[number]; sampled {
		number ^= sampleMark
	}
	one := &t.recent[number%recents]
	if one.number == number && one.at > 0 {
		return one.at
	}
	i, known := t.placeOf(number)
	if !known {
		return 0
	}
	one.number, one.at = number, i+1
	return one.at
}

// sampleMark distinguishes the number of a stack of samples from that of the same stack of blocks that were all
// streamed.
const sampleMark = 0x5a4d_504c_e5a4_d50d

// maxSampled is the number of stacks of samples that are kept. Further ones are not known.
const maxSampled = 1 << 17

// sample returns the number that stands for a stack where its blocks are samples.
func (t *stackTable) sample(stack uint64) uint64 {
	number := stack ^ sampleMark
	if _, known := t.sampled[number]; !known {
		if t.sampled == nil {
			t.sampled = map[uint64]struct{}{sampleMark: {}}
		}
		if len(t.sampled) >= maxSampled {
			number = sampleMark
		}
		t.sampled[number] = struct{}{}
	}
	return number
}

// isSampled reports whether a stack's number is that of samples.
func (t *stackTable) isSampled(stack uint64) bool {
	_, is := t.sampled[stack]
	return is
}

// framesOf returns the calls of a stack, the innermost first; none where it is not known.
func (t *stackTable) framesOf(number uint64) (frames []event.Frame) {
	if s := t.of(number); s != nil {
		for _, call := range t.callsOf(s) {
			frames = append(frames, t.frame(call))
		}
	}
	return frames
}

// close drops all stacks; further ones are ignored.
func (t *stackTable) close() {
	*t = *newStackTable()
	t.isClosed = true
}
