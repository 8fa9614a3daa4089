package course

import (
	"slices"

	"ipytracer/event"
)

// A window in which a meter was paused has lower bounds (≥) of its peak and its need, and no other figures. During a
// pause any block may be allocated or freed. So nothing known from before a pause is certain after it, and a block that
// is found later counts for no window that is open then.
//
// An observation is a time in which a meter is seen without a pause. Within it, differences between values are certain.
// Values of the first observation are exact. In a later one, the memory allocated since it began is certain: the
// meter's value less its value at the beginning of the observation.

// observation is a stretch of time in which a meter was seen.
type observation struct {
	from, to uint64      // cuts; to is 0 while it goes on
	exact    bool        // values are exact
	base     event.Bytes // the meter's value when the observation began
	slack    event.Bytes // bytes of unknown blocks freed before it began, at most
	// highs are the highest values less the slack at that time: frees of unknown blocks do not lower the value.
	highs Peaks
}

// maxObservations limits the observations kept of a meter. Nothing from a dropped observation is certain any more.
const maxObservations = 64

// lowerBound is the certain part of a meter that was paused at some time.
type lowerBound struct {
	observations []observation // the oldest first
	top          event.Bytes   // the certain part of the highest value so far
	waits        bool          // for the allocator's report: until then the value is from before the pause
}

// current returns the observation that goes on, nil for none.
func (l *lowerBound) current() *observation {
	if n := len(l.observations); n > 0 && l.observations[n-1].to == 0 {
		return &l.observations[n-1]
	}
	return nil
}

// indexAt returns the index of the observation that contains a cut, -1 for none.
func (l *lowerBound) indexAt(cut uint64) int {
	return slices.IndexFunc(l.observations, func(s observation) bool {
		return s.from <= cut && (s.to == 0 || cut < s.to)
	})
}

// end ends the observation that goes on.
func (l *lowerBound) end(cut uint64) {
	if s := l.current(); s != nil {
		s.to = cut
	}
	l.waits = false
}

// begin begins an observation.
func (l *lowerBound) begin(first observation) {
	l.end(first.from)
	if len(l.observations) == maxObservations {
		l.observations = slices.Delete(l.observations, 0, 1)
	}
	l.observations = append(l.observations, first)
}

// drop returns the certain part of the drop from a window's highest value to its end.
func (l *lowerBound) drop(end event.Bytes, w Opening) event.Bytes {
	s := l.current()
	if s == nil {
		return 0
	}
	slack := w.slack
	if s.from > w.cut {
		slack = s.slack
	}
	if s.exact {
		slack = 0
	}
	high, ok := s.highs.Since(max(w.cut, s.from))
	if !ok {
		return 0
	}
	return max(0, high+slack-end)
}

// Opening describes the moment at which a window opened.
type Opening struct {
	cut   uint64
	there bool        // the process lived
	slack event.Bytes // bytes of unknown blocks freed by then, at most
}
