package attribution

import (
	"slices"

	"ipytracer/event"
)

// A window in which a meter was stepped down has lower bounds (≥) of what it reached and needed, and nothing else.
// While nobody looks anything may go and come. So of what was known before a pause nothing is taken for granted after
// it, and what is found out later was made by no window that is open then.
//
// The time in which a meter is seen without a break is an observation. In it, values differ by what has happened,
// whatever is not known of it. In the first one, they are what there is. In a later one, what has been made since it
// began is there for certain: the meter's value less what it had then.

// observation is a stretch of time in which a meter was seen.
type observation struct {
	from, to uint64 // cuts; to is 0 while it goes on
	exact    bool   // values are what there is
	base     event.Bytes
	slack    event.Bytes // of frees of what was not known, as it began
	// highs are the maxima, less the slack by then: what is freed that is not known lets no value fall.
	highs peaks
}

// maxObservations is how many are kept of a meter. Windows that began in one that is not have nothing for certain from
// it.
const maxObservations = 64

// least is what is certain of a meter that was stepped down at some time.
type least struct {
	observations []observation // in their order
	top          event.Bytes
	waits        bool // for an allocator to say its total: until then the value is one from before the pause
}

// now is the one that goes on, nil for none.
func (l *least) now() *observation {
	if n := len(l.observations); n > 0 && l.observations[n-1].to == 0 {
		return &l.observations[n-1]
	}
	return nil
}

// of is the one in which a cut is; -1 for none.
func (l *least) of(cut uint64) int {
	return slices.IndexFunc(l.observations, func(s observation) bool {
		return s.from <= cut && (s.to == 0 || cut < s.to)
	})
}

// end ends the one that goes on.
func (l *least) end(cut uint64) {
	if s := l.now(); s != nil {
		s.to = cut
	}
	l.waits = false
}

// begin begins one at a cut.
func (l *least) begin(one observation) {
	l.end(one.from)
	if len(l.observations) == maxObservations {
		l.observations = slices.Delete(l.observations, 0, 1)
	}
	l.observations = append(l.observations, one)
}

// drop is how far the meter is certainly below its highest at the end of a window.
func (l *least) drop(end event.Bytes, w since) event.Bytes {
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
	high, ok := s.highs.since(max(w.cut, s.from))
	if !ok {
		return 0
	}
	return max(0, high+slack-end)
}

// since is the window that is asked about: since when it is open, whether the process was there then, and what had been
// freed by then.
type since struct {
	cut   uint64
	there bool
	slack event.Bytes
}
