package attribution

import "ipytracer/event"

// space is memory for the window that is read from the archive: it goes when the next is. Where there is none, what is
// read is to be kept.
type space struct {
	window     window
	detail     detail
	recomputed levels
	all        []figure // of the window, its tree and children, one after another
	tallies    map[event.Meter]*tallies
	each       []*tallies
}

// begin is a window to be read.
func (s *space) begin() *window {
	s.all = s.all[:0]
	s.detail = detail{}
	s.detail.recomputed = s.recomputed[:0]
	s.window = window{detail: &s.detail}
	return &s.window
}

// end keeps what the window may have outgrown.
func (s *space) end() { s.recomputed = s.detail.recomputed }

// figures are so many, to be read.
func (s *space) figures(n int) figures {
	if s == nil {
		return make(figures, n)
	}
	if len(s.all)+n > cap(s.all) {
		s.all = make([]figure, 0, 2*cap(s.all)+n) // what has been handed out stays where it is
	}
	begin := len(s.all)
	s.all = s.all[:begin+n]
	return figures(s.all[begin:len(s.all):len(s.all)])
}

// tallied is where the tallies of so many meters are to be put.
func (s *space) tallied(n int) map[event.Meter]*tallies {
	if s == nil {
		return make(map[event.Meter]*tallies, n)
	}
	if s.tallies == nil {
		s.tallies = map[event.Meter]*tallies{}
	}
	clear(s.tallies)
	return s.tallies
}

// talliesOf are tallies of the i-th meter, to be read.
func (s *space) talliesOf(i int) *tallies {
	if s == nil {
		return &tallies{done: &settled{isShort: true}}
	}
	if i == len(s.each) {
		s.each = append(s.each, &tallies{done: &settled{}})
	}
	one := s.each[i]
	done := one.done
	*done = settled{isShort: true, tallies: done.tallies[:0]}
	*one = tallies{done: done}
	return one
}
