package windows

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
)

// space is memory for one window that is read from the archive. The next window overwrites it. A nil space allocates
// new memory, for a window that the caller keeps.
type space struct {
	window      Window
	detail      Detail
	recomputed  course.Levels
	figuresRead []course.Figure // of the window, its tree and children, one after another
	tallies     map[event.Meter]*stacks.Tallies
	byMeter     []*stacks.Tallies
}

// begin returns an empty window to read into.
func (s *space) begin() *Window {
	s.figuresRead = s.figuresRead[:0]
	s.detail = Detail{}
	s.detail.Recomputed = s.recomputed[:0]
	s.window = Window{Detail: &s.detail}
	return &s.window
}

// end keeps for the next window the memory that reading may have allocated anew.
func (s *space) end() { s.recomputed = s.detail.Recomputed }

// figures returns n figures to read into.
func (s *space) figures(n int) course.Figures {
	if s == nil {
		return make(course.Figures, n)
	}
	if len(s.figuresRead)+n > cap(s.figuresRead) {
		// figures that were returned before keep their memory
		s.figuresRead = make([]course.Figure, 0, 2*cap(s.figuresRead)+n)
	}
	begin := len(s.figuresRead)
	s.figuresRead = s.figuresRead[:begin+n]
	return course.Figures(s.figuresRead[begin:len(s.figuresRead):len(s.figuresRead)])
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
	if i == len(s.byMeter) {
		s.byMeter = append(s.byMeter, &stacks.Tallies{Done: &stacks.Summary{}})
	}
	tallies := s.byMeter[i]
	done := tallies.Done
	*done = stacks.Summary{IsShort: true, Tallies: done.Tallies[:0]}
	*tallies = stacks.Tallies{Done: done}
	return tallies
}
