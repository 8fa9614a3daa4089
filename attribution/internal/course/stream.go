// Package course keeps the values of meters over the segments of a session, for as long as an open window may ask.
package course

import "slices"

// Stream records which of a root's changes are missing.
type Stream struct {
	Made    uint64        // number of changes made up to the last boundary
	Count   uint64        // number of changes received
	Twice   uint64        // number of changes received twice
	next    uint64        // one more than the highest number received
	missing []numberRange // numbers below next that did not come, ascending
	merged  bool          // ranges were joined to bound memory: some changes that came count as missing
}

// numberRange has the numbers from first to last.
type numberRange struct{ first, last uint64 }

// maxSpans bounds the ranges of missing numbers: a stream may lose single changes all the time.
const maxSpans = 1 << 16

// Received records that a change came.
func (s *Stream) Received(number uint64) {
	s.Count++
	if s.next == 0 {
		s.next = 1
	}
	switch {
	case number == s.next:
		s.next++
	case number > s.next:
		s.addMissing(numberRange{s.next, number - 1})
		s.next = number + 1
	default:
		s.removeMissing(number)
	}
}

func (s *Stream) addMissing(lost numberRange) {
	if n := len(s.missing); n >= maxSpans {
		s.missing[n-1].last = lost.last
		s.merged = true
		return
	}
	s.missing = append(s.missing, lost)
}

// removeMissing removes a number from the missing ones: records of two CPUs may arrive in the wrong order.
func (s *Stream) removeMissing(number uint64) {
	i, ok := slices.BinarySearchFunc(s.missing, number, func(m numberRange, n uint64) int {
		switch {
		case m.last < n:
			return -1
		case m.first > n:
			return 1
		}
		return 0
	})
	if s.merged {
		return
	}
	if !ok {
		if number > 0 {
			s.Twice++
		}
		return
	}
	m := s.missing[i]
	var rest []numberRange
	if m.first < number {
		rest = append(rest, numberRange{m.first, number - 1})
	}
	if number < m.last {
		rest = append(rest, numberRange{number + 1, m.last})
	}
	s.missing = slices.Replace(s.missing, i, i+1, rest...)
}

// Complete reports whether every change with a number in (after, upTo] came.
func (s *Stream) Complete(after, upTo uint64) bool {
	if upTo <= after {
		return true
	}
	if upTo >= max(s.next, 1) {
		return false
	}
	i, _ := slices.BinarySearchFunc(s.missing, after+1, func(m numberRange, n uint64) int {
		if m.last < n {
			return -1
		}
		return 1
	})
	return i == len(s.missing) || s.missing[i].first > upTo
}
