package attribution

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"ipytracer/attribution/internal/blocks"
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

const miB = 1 << 20 // of any type

// cache0 scripts PyTorch's allocator on GPU 0.
type cache0 struct {
	*script
	held     event.Bytes
	reserved event.Bytes
}

func (s *cache0) moves(m event.Meter, value, size event.Bytes, address, stack uint64) {
	s.stream++
	s.events = append(s.events, &event.Change{Stream: s.stream, Segment: s.number + 1, PID: main, TID: main, Meter: m,
		Value: value, Size: size, Address: address, Stack: stack, Block: m == active})
}

func (s *cache0) segment(address uint64, size event.Bytes) {
	s.reserved += size
	s.moves(driver, s.reserved, size, address, 0)
}

func (s *cache0) block(address uint64, size event.Bytes, stack uint64) {
	s.held += size
	s.moves(active, s.held, size, address, stack)
}

func (s *cache0) refuse(asked event.Bytes) {
	s.stream++
	s.events = append(s.events, &event.Refusal{Stream: s.stream, Segment: s.number + 1, PID: main, TID: main,
		Meter: active, Asked: asked, Held: s.held, Detail: uint64(s.reserved)})
}

func newCache0() *cache0 {
	s := &cache0{script: newScript()}
	for number := range uint64(40) {
		s.events = append(s.events, &event.Stack{Number: number + 1, PID: main,
			Frames: []event.Frame{{Function: "f", File: "f.py", Line: int32(number + 1)}}})
	}
	s.openCell(1, true)
	return s
}

// dividersIn returns the dividers of the only refused request of a session, with the lines of their stacks.
func dividersIn(t *testing.T, s *cache0) (out [][4]int64) {
	t.Helper()
	s.closeCell(1, event.OutcomeOK)
	r := s.run(t)
	for _, w := range r.Windows {
		for _, refused := range w.Refused {
			var all [][4]int64
			for _, d := range refused.Dividers {
				all = append(all, [4]int64{d.Bytes / miB, d.Before / miB, d.After / miB, int64(d.Stack[0].Line)})
			}
			if out != nil && !reflect.DeepEqual(out, all) {
				t.Errorf("a window has %v, another %v", all, out)
			}
			out = all
		}
	}
	return out
}

const firstSegment, otherSegment = 0x7f00_0000_0000, 0x7f80_0000_0000

// between has 100 MiB in use, 20 of them between free memory of 200 and 300.
func between(s *cache0) {
	s.segment(firstSegment, 600*miB)
	s.block(firstSegment, 80*miB, 1)
	s.block(firstSegment+280*miB, 20*miB, 2)
}

// dividerCases have what PyTorch did on a GPU before a request was refused, and the blocks that are named: size, free
// memory in front and behind, in MiB, and the line of the stack.
var dividerCases = []struct {
	name string
	do   func(*cache0)
	want [][4]int64
}{
	{"between", func(s *cache0) { between(s); s.refuse(400 * miB) }, [][4]int64{{20, 200, 300, 2}}},
	{"all of it", func(s *cache0) { between(s); s.refuse(520 * miB) }, [][4]int64{{20, 200, 300, 2}}},
	{"too large", func(s *cache0) { between(s); s.refuse(520*miB + 512) }, nil},
	{"it would fit as it is", func(s *cache0) { between(s); s.refuse(300 * miB) }, nil},
	{"a block as large as the request", func(s *cache0) {
		s.segment(firstSegment, 500*miB)
		s.block(firstSegment+50*miB, 400*miB, 1)
		s.refuse(400 * miB)
	}, nil},
	{"the smallest of two segments first", func(s *cache0) {
		between(s)
		s.segment(otherSegment, 600*miB)
		s.block(otherSegment+290*miB, 10*miB, 3)
		s.refuse(400 * miB)
	}, [][4]int64{{10, 290, 300, 3}, {20, 200, 300, 2}}},
	{"one of each stack", func(s *cache0) {
		between(s)
		s.segment(otherSegment, 600*miB)
		s.block(otherSegment+290*miB, 10*miB, 2)
		s.refuse(400 * miB)
	}, [][4]int64{{10, 290, 300, 2}}},
	{"a block that was freed", func(s *cache0) {
		between(s)
		s.block(firstSegment+400*miB, 40*miB, 3)
		s.block(firstSegment+400*miB, -40*miB, 0)
		s.refuse(400 * miB)
	}, [][4]int64{{20, 200, 300, 2}}},
	{"a block that came before its neighbour by address", func(s *cache0) {
		s.segment(firstSegment, 600*miB)
		s.block(firstSegment+280*miB, 20*miB, 2)
		s.block(firstSegment, 80*miB, 1)
		s.refuse(400 * miB)
	}, [][4]int64{{20, 200, 300, 2}}},
	{"a block of another process", func(s *cache0) {
		between(s)
		s.block(firstSegment+400*miB, 40*miB, 3)
		s.events[len(s.events)-1].(*event.Change).PID = main + 1
		s.held -= 40 * miB
		s.refuse(400 * miB)
	}, [][4]int64{{20, 200, 300, 2}}},
	{"a block that is not known", func(s *cache0) { between(s); s.held += 512; s.refuse(400 * miB) }, nil},
	{"reserved is less than the segments", func(s *cache0) { between(s); s.reserved--; s.refuse(400 * miB) }, nil},
	{"overlapping blocks", func(s *cache0) {
		between(s)
		s.block(firstSegment+299*miB, 2*miB, 3)
		s.refuse(100 * miB)
	}, nil},
	{"overlapping segments", func(s *cache0) {
		between(s)
		s.segment(firstSegment+miB, miB)
		s.refuse(400 * miB)
	}, nil},
	{"a block that leaves its segment", func(s *cache0) {
		between(s)
		s.block(firstSegment+599*miB, 2*miB, 3)
		s.refuse(310 * miB)
	}, nil},
	{"addresses that wrap", func(s *cache0) {
		between(s)
		s.block(math.MaxUint64-miB, 4*miB, 3)
		s.refuse(400 * miB)
	}, nil},
	{"a segment that wraps", func(s *cache0) {
		between(s)
		s.segment(math.MaxUint64-miB, 4*miB)
		s.refuse(400 * miB)
	}, nil},
	{"segments for small requests", func(s *cache0) {
		s.segment(firstSegment, 2*miB)
		s.block(firstSegment+miB, miB/2, 1)
		s.segment(otherSegment, 600*miB)
		s.block(otherSegment+300*miB, 20*miB, 2)
		s.refuse(miB)
	}, nil}, // the first miB is large enough
	{"a large request and a segment for small ones", func(s *cache0) {
		s.segment(firstSegment, 2*miB)
		s.block(firstSegment+miB/2, miB, 1)
		s.refuse(3 * miB / 2)
	}, nil},
	{"a small request", func(s *cache0) {
		s.segment(firstSegment, 2*miB)
		s.block(firstSegment, miB, 1)
		s.block(firstSegment+3*miB/2, miB/4, 2)
		s.refuse(miB * 15 / 16)
	}, [][4]int64{{0, 0, 0, 2}}},
	{"nonsense", func(s *cache0) { between(s); s.refuse(-1); s.refuse(0) }, nil},
	{"reserved of all bits", func(s *cache0) {
		between(s)
		s.refuse(400 * miB)
		s.events[len(s.events)-1].(*event.Refusal).Detail = math.MaxUint64
	}, nil},
}

// TestDividers: a live block is named if the request would have fitted without it. Nothing is named where the blocks
// are not those that the allocator counts, or where the request could not have used the place.
func TestDividers(t *testing.T) {
	t.Parallel()
	for _, of := range dividerCases {
		t.Run(of.name, func(t *testing.T) {
			s := newCache0()
			of.do(s)
			if got := dividersIn(t, s); !reflect.DeepEqual(got, of.want) {
				t.Errorf("%v, want %v", got, of.want)
			}
		})
	}
}

// TestDividersInOrder: a change that passed a refusal on its way counts before it, and one that was made after it does
// not, wherever the boundary's record comes.
func TestDividersInOrder(t *testing.T) {
	const at = 0x7f00_0000_0000
	for _, swapped := range []bool{false, true} {
		s := newCache0()
		s.segment(at, 600*miB)
		s.block(at+200*miB, 20*miB, 2)
		s.refuse(400 * miB)
		n := len(s.events)
		if swapped {
			s.events[n-1], s.events[n-2] = s.events[n-2], s.events[n-1]
		}
		s.block(at+400*miB, 20*miB, 3)
		if got := dividersIn(t, s); !reflect.DeepEqual(got, [][4]int64{{20, 200, 380, 2}}) {
			t.Errorf("swapped %v: %v", swapped, got)
		}
	}
}

// TestDividersStay: a window that was made bytes has them still.
func TestDividersStay(t *testing.T) {
	const at = 0x7f00_0000_0000
	s := newCache0()
	s.segment(at, 600*miB)
	s.block(at+200*miB, 20*miB, 2)
	s.refuse(400 * miB)
	s.closeCell(1, event.OutcomeOK)
	for cell := range uint64(300) {
		s.openCell(cell+2, true)
		s.closeCell(cell+2, event.OutcomeOK)
	}
	r := s.run(t)
	want := []model.Divider{{Bytes: 20 * miB, Before: 200 * miB, After: 380 * miB,
		Stack: []model.Frame{{Function: "f", File: "f.py", Line: 2}}}}
	if got := nth(t, r, model.Cell, 0).Refused[0].Dividers; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestDividersByHand compares them with a segment of 64 units in which each unit is looked at.
func TestDividersByHand(t *testing.T) {
	const at, unit, units = 1 << 40, 4 * miB, 64
	random, found := rand.New(rand.NewPCG(5, 6)), 0
	for range 2000 {
		var of [units]uint64 // the stack of the block in each unit, 0 for none
		a := &blocks.Blocks{Live: map[stacks.BlockKey]stacks.Block{}, Holdings: stacks.NewHoldings(nil)}
		a.Live[stacks.BlockKey{Key: course.Key{PID: main, Meter: driver},
			Address: at}] = stacks.Block{Size: units * unit, Stack: 0}
		held, stack := event.Bytes(0), uint64(0)
		for from := 0; from < units; {
			size := min(1+random.IntN(12), units-from)
			if random.IntN(3) == 0 {
				stack++
				for i := range size {
					of[from+i] = stack
				}
				place := stacks.BlockKey{Key: course.Key{PID: main, Meter: active}, Address: at + uint64(from)*unit}
				a.Live[place] = stacks.Block{Size: event.Bytes(size) * unit, Stack: stack}
				held += event.Bytes(size) * unit
			}
			from += size
		}
		a.Of(course.Key{PID: main, Meter: active}).Total = held
		asked := 1 + random.IntN(20)
		longest := func(without uint64) (most int) {
			run := 0
			for _, one := range of {
				if run++; one != 0 && one != without {
					run = 0
				}
				most = max(most, run)
			}
			return most
		}
		var want []uint64
		for one := range stack {
			size := 0
			for _, s := range of {
				if s == one+1 {
					size++
				}
			}
			if longest(0) < asked && longest(one+1) >= asked && size < asked {
				want = append(want, one+1)
			}
		}
		var got []uint64
		for _, d := range a.DividersAt(&event.Refusal{PID: main, Meter: active, Asked: event.Bytes(asked) * unit,
			Held: held, Detail: units * unit}) {
			got = append(got, d.Stack)
		}
		slices.Sort(got)
		if found += len(got); !slices.Equal(got, want) && len(want) <= blocks.MaxDividers {
			t.Fatalf("%v, want %v: %d units of %v", got, want, asked, of)
		}
	}
	if found < 300 {
		t.Errorf("only %d were found", found)
	}
}

// TestDividersHostile: a session looks at a bounded number of blocks, however many live and however often requests are
// refused, and keeps a bounded number of places.
func TestDividersHostile(t *testing.T) {
	t.Parallel()
	const n, at, apart = 1 << 20, uint64(1 << 40), 4 * miB
	a := &blocks.Blocks{Live: make(map[stacks.BlockKey]stacks.Block, n), Holdings: stacks.NewHoldings(nil)}
	a.Live[stacks.BlockKey{Key: course.Key{PID: main, Meter: driver}, Address: at}] = stacks.Block{Size: (n -
		1) * apart, Stack: 0}
	for i := range uint64(n - 1) {
		a.Live[stacks.BlockKey{Key: course.Key{PID: main, Meter: active},
			Address: at + apart*i}] = stacks.Block{Size: miB, Stack: i}
	}
	held, looks := event.Bytes(n-1)*miB, 0
	const mayLook = 2
	a.Searched = blocks.MaxSearched - mayLook*n
	a.Of(course.Key{PID: main, Meter: active}).Total = held
	refused := &event.Refusal{PID: main, Meter: active, Asked: 7 * miB, Held: held, Detail: (n - 1) * apart}
	for range 1000 {
		switch found := a.DividersAt(refused); len(found) {
		case blocks.MaxDividers:
			looks++
		case 0:
		default:
			t.Fatalf("%v", found)
		}
	}
	if looks != mayLook || a.Searched > blocks.MaxSearched {
		t.Errorf("looked %d times at %d blocks", looks, a.Searched)
	}
	a.Searched = 0
	a.Live[stacks.BlockKey{Key: course.Key{PID: main, Meter: active},
		Address: at + n*apart}] = stacks.Block{Size: miB, Stack: 1}
	if found := a.DividersAt(refused); found != nil || a.Searched != 0 {
		t.Errorf("more blocks than it looks at: %v, %d", found, a.Searched)
	}

	q := &blockQueue{}
	for range 2 * windows.MaxAsked {
		q.markRefusal(&windows.Refusal{Refusal: refused})
	}
	if len(q.refusals) != windows.MaxAsked {
		t.Errorf("%d places wait", len(q.refusals))
	}
}
