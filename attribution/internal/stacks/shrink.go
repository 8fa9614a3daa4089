package stacks

import "ipytracer/event"

// IsOld reports whether there are stacks of an earlier era.
func (t *Table) IsOld() bool {
	return t.swept != t.Era
}

// Original returns the number of a stack, given that number or the number of its samples.
func (t *Table) Original(number uint64) uint64 {
	if t.IsSampled(number) {
		return number ^ SampleMark
	}
	return number
}

// Shrink drops the stacks of earlier eras that are not needed.
func (t *Table) Shrink(needed map[uint64]bool) {
	fresh := NewTable(t.Room)
	fresh.Dropped, fresh.Era, fresh.swept = t.Dropped, t.Era, t.Era
	keep := func(number uint64, s *Stack) {
		if s.era != t.Era && !needed[number] {
			return
		}
		stack := event.Stack{Number: number, PID: s.PID, More: s.More}
		for _, call := range t.CallsOf(s) {
			stack.Frames = append(stack.Frames, t.Frame(call))
		}
		fresh.AddOrDrop(&stack)
	}
	for i := range t.Stacks {
		keep(t.Stacks[i].Number, &t.Stacks[i])
	}
	for number, i := range t.Repeated {
		keep(number, &t.Stacks[i])
	}
	for number, represents := range t.sampled {
		if fresh.Place(number^SampleMark) > 0 {
			fresh.Sample(number^SampleMark, represents)
		}
	}
	*t = *fresh
}
