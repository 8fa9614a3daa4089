package attribution

import "ipytracer/event"

// isOld reports whether there are stacks of an earlier era.
func (t *stackTable) isOld() bool {
	return t.swept != t.era
}

// original returns the number of a stack itself, for that of its samples.
func (t *stackTable) original(number uint64) uint64 {
	if t.isSampled(number) {
		return number ^ sampleMark
	}
	return number
}

// shrink leaves the stacks of this era, and those that are needed.
func (t *stackTable) shrink(needed map[uint64]bool) {
	fresh := newStackTable()
	fresh.room, fresh.dropped, fresh.era, fresh.swept = t.room, t.dropped, t.era, t.era
	keep := func(number uint64, s *stack) {
		if s.era != t.era && !needed[number] {
			return
		}
		one := event.Stack{Number: number, PID: s.pid, More: s.more}
		for _, call := range t.callsOf(s) {
			one.Frames = append(one.Frames, t.frame(call))
		}
		fresh.take(&one)
	}
	for i := range t.stacks {
		keep(t.stacks[i].number, &t.stacks[i])
	}
	for number, i := range t.also {
		keep(number, &t.stacks[i])
	}
	for number := range t.sampled {
		if fresh.place(number^sampleMark) > 0 {
			fresh.sample(number ^ sampleMark)
		}
	}
	*t = *fresh
}
