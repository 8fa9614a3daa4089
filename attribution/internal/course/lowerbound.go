package course

import (
	"slices"

	"ipytracer/event"
)

// A window in which a meter was paused has lower bounds (≥) of its peak and its need, and no other figures.
// During such a pause any block may be allocated or freed. So no fact from before a pause holds for certain after it,
// and a block that is found later counts for no window that is open then.
//
// An observation is a time in which a meter is seen without a break. In it, values differ by the known changes between
// them, whatever else is unknown. In the first one, values are exact. In a later one, the memory made since it began is
// there for certain: the meter's value less its value at that beginning.

// observation is a stretch of time in which a meter was seen.
type observation struct {
	from, to uint64 // cuts; to is 0 while it goes on
	exact    bool   // values are the true ones
	base     event.Bytes
	slack    event.Bytes // when it began: at most so many bytes of unknown blocks were freed
	// highs are the maxima, less the slack by then: frees of unknown blocks do not lower the value.
	highs Peaks
}

// maxObservations limits the observations kept of a meter. A window that began in a dropped one has nothing for certain
// from it.
const maxObservations = 64

// lowerBound is the certain part of a meter that was paused at some time.
type lowerBound struct {
	observations []observation // in their order
	top          event.Bytes
	waits        bool // for an allocator to report its total: until then the value is from before the pause
}

// now returns the observation that goes on, nil for none.
func (l *lowerBound) now() *observation {
	if n := len(l.observations); n > 0 && l.observations[n-1].to == 0 {
		return &l.observations[n-1]
	}
	return nil
}

// of returns the index of a cut's observation; -1 for none.
func (l *lowerBound) of(cut uint64) int {
	return slices.IndexFunc(l.observations, func(s observation) bool {
		return s.from <= cut && (s.to == 0 || cut < s.to)
	})
}

// end ends the observation that goes on.
func (l *lowerBound) end(cut uint64) {
	if s := l.now(); s != nil {
		s.to = cut
	}
	l.waits = false
}

// begin begins an observation.
func (l *lowerBound) begin(one observation) {
	l.end(one.from)
	if len(l.observations) == maxObservations {
		l.observations = slices.Delete(l.observations, 0, 1)
	}
	l.observations = append(l.observations, one)
}

// drop returns the bytes by which the meter is certainly below its maximum at the end of a window.
func (l *lowerBound) drop(end event.Bytes, w Opening) event.Bytes {
	s := l.now()
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

// Opening describes a window: the cut at which it opened, whether the process was there then, and the bytes of unknown
// blocks freed by then, at most.
type Opening struct {
	cut   uint64
	there bool
	slack event.Bytes
}
