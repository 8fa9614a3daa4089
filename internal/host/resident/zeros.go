package resident

// Bits of an entry of pagemap (Documentation/admin-guide/mm/pagemap.rst).
const (
	present   = 1 << 63
	ofFile    = 1 << 61
	exclusive = 1 << 56
	frame     = 1<<55 - 1 // the number of the frame; 0 for readers without the right to know it
)

// The states of a page.
const (
	absent uint8 = iota
	owned
	shared // with forked processes; or it is Linux's page of zeros, whose frame is not known
)

// pageStates finds out which pages of a mapping without a file are resident. Wherever memory was only read, Linux maps
// its single page of zeros, or a huge one. That page is present, but does not count as resident memory.
type pageStates struct {
	*reader
	last   uint64 // the frame of the page before; 0 if that page is not shared
	counts [shared + 1]uint64
}

// take adds the entry of the next page. Two adjacent pages with the same frame are the page of zeros.
func (s *pageStates) take(page, entry uint64) {
	last := s.last
	s.last = 0
	switch {
	case entry&present == 0, entry&ofFile != 0: // without a file, only the huge page of zeros has the bit ofFile
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

// set sets the state of a page.
func (s *pageStates) set(page uint64, state uint8) {
	s.counts[s.pages[page]]--
	s.pages[page] = state
	s.counts[state]++
}

// end decides about the shared pages, given the number of resident pages in smaps. They count as absent, because they
// are the page of zeros, if the number of resident pages is then nearer to that of smaps.
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
