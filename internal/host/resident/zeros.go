package resident

// Bits of an entry of pagemap (Documentation/admin-guide/mm/pagemap.rst).
const (
	present   = 1 << 63
	ofFile    = 1 << 61
	exclusive = 1 << 56
	frame     = 1<<55 - 1 // 0 for readers that may not know it
)

// States of a page that [reader.load] finds out.
const (
	absent uint8 = iota
	owned
	shared // with forked processes; or Linux's page of zeros, where its frame is not known
)

// pageStates finds out which pages of a mapping without a file are resident. Memory that was only read has Linux's one
// page of zeros everywhere, small or huge: that is present, but no part of resident memory.
type pageStates struct {
	*reader
	last   uint64 // the frame of the page before, where others have that, too
	counts [shared + 1]uint64
}

// take takes in the entry of a page.
func (s *pageStates) take(page, entry uint64) {
	last := s.last
	s.last = 0
	switch {
	case entry&present == 0, entry&ofFile != 0: // only the huge page of zeros is of a file here
	case entry&exclusive != 0:
		s.set(page, owned)
	default:
		s.last = entry & frame
		if s.last != 0 && s.last == last && s.last != s.zero {
			s.zero = s.last
			s.set(page-1, absent)
		}
		if s.last == 0 || s.last != s.zero {
			s.set(page, shared)
		}
	}
}

func (s *pageStates) set(page uint64, state uint8) {
	s.counts[s.pages[page]]--
	s.pages[page] = state
	s.counts[state]++
}

// end takes in how many pages are resident by smaps. Pages that are shared are zeros if that is nearer without them.
func (s *pageStates) end(resident uint64) {
	without, with := s.counts[owned], s.counts[owned]+s.counts[shared]
	if with <= resident || resident > without && with-resident <= resident-without {
		return
	}
	for i, state := range s.pages {
		if state == shared {
			s.pages[i] = absent
		}
	}
}
