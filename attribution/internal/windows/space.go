package windows

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
)

// space is memory for one window that is read from the archive; the next one overwrites it. A nil space allocates new
// memory, for a window that is to be kept.
type space struct {
	window     Window
	detail     Detail
	recomputed course.Levels
	all        []course.Figure // of the window, its tree and children, one after another
	tallies    map[event.Meter]*stacks.Tallies
	each       []*stacks.Tallies
}

// begin returns an empty window to read into.
func (s *space) begin() *Window {
	s.all = s.all[:0]
	s.detail = Detail{}
	s.detail.Recomputed = s.recomputed[:0]
	s.window = Window{Detail: &s.detail}
	return &s.window
}

// end keeps the memory that the window may have grown.
func (s *space) end() { s.recomputed = s.detail.Recomputed }

// figures returns n figures to read into.
func (s *space) figures(n int) course.Figures {
	if s == nil {
		return make(course.Figures, n)
	}
	if len(s.all)+n > cap(s.all) {
		s.all = make([]course.Figure, 0, 2*cap(s.all)+n) // figures that were returned before keep their memory
	}
	begin := len(s.all)
	s.all = s.all[:begin+n]
	return course.Figures(s.all[begin:len(s.all):len(s.all)])
}

// tallied returns a map for the tallies of n meters.
func (s *space) tallied(n int) map[event.Meter]*stacks.Tallies {
	if s == nil {
		return make(map[event.Meter]*stacks.Tallies, n)
	}
	if s.tallies == nil {
		s.tallies = map[event.Meter]*stacks.Tallies{}
	}
	clear(s.tallies)
	return s.tallies
}

// talliesOf returns tallies of the i-th meter to read into.
func (s *space) talliesOf(i int) *stacks.Tallies {
	if s == nil {
		return &stacks.Tallies{Done: &stacks.Summary{IsShort: true}}
	}
	if i == len(s.each) {
		s.each = append(s.each, &stacks.Tallies{Done: &stacks.Summary{}})
	}
	one := s.each[i]
	done := one.Done
	*done = stacks.Summary{IsShort: true, Tallies: done.Tallies[:0]}
	*one = stacks.Tallies{Done: done}
	return one
}
