package attribution

import (
	"time"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
	"ipytracer/model"
)

// session is the frame of the trace: its start and finish events, and the count of its boundaries.
type session struct {
	start      *event.Start
	finish     *event.Finish
	began      event.Nanoseconds // time of the first boundary
	last       event.Nanoseconds // time of the last
	cut        uint64            // boundaries processed
	numbered   uint64            // the highest number of a boundary
	boundaries course.Stream     // the numbers of boundaries: they may pass each other, and none may be missing
}

func (s *session) host() model.Host {
	if s.start == nil {
		return model.Host{}
	}
	h := s.start.Host
	out := model.Host{Name: h.Name, Kernel: h.Kernel, CPUs: h.CPUs, Memory: int64(h.Memory), Tracer: h.Tracer}
	if s.began != 0 {
		wall := int64(h.WallNow) + int64(s.began-h.MonoNow)
		out.Started = time.Unix(0, wall).UTC().Format(time.RFC3339Nano)
	}
	return out
}

// page returns the size of a page of the machine's memory.
func (s *session) page() uint64 {
	if s.start == nil {
		return uint64(event.UsualPage)
	}
	return uint64(s.start.Host.Page())
}

// since converts a time to that of the report, which counts from the first boundary.
func (s *session) since(at event.Nanoseconds) int64 {
	if at == 0 {
		at = s.last
	}
	return int64(at - s.began)
}

func (s *session) duration(w *window) int64 {
	if w.isOpen {
		return int64(s.last - w.opened)
	}
	return int64(w.closed - w.opened)
}

// starts records the start event.
func (s *session) starts(e *event.Start) { s.start = e }

// next advances to the next cut.
func (s *session) next() { s.cut++ }

// draws records that a boundary came.
func (s *session) draws(b *event.Boundary) {
	s.boundaries.Received(b.Number)
	s.numbered = max(s.numbered, b.Number)
	if s.began == 0 {
		s.began = b.Time
	}
	s.last = max(s.last, b.Time)
}

// ends records a finish event, and reports whether it is the first.
func (s *session) ends(f *event.Finish) (isFirst bool) {
	isFirst = s.finish == nil
	s.finish = f
	return isFirst
}

// lost returns how many boundaries are missing.
func (s *session) lost() uint64 {
	if s.boundaries.Complete(0, s.numbered) {
		return 0
	}
	return max(1, s.numbered-min(s.numbered, s.boundaries.Count))
}

// isCut reports whether the events stop before the session did. What was lost is only said at its end: of such a
// session no figure is exact.
func (s *session) isCut() bool { return s.finish != nil && s.finish.Reason == event.FinishCut }
