package windows

import (
	"time"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
	"ipytracer/model"
)

// session is the frame of the trace: its start and finish events, and the count of its boundaries.
type session struct {
	Start      *event.Start
	Finish     *event.Finish
	Began      event.Nanoseconds // time of the first boundary
	Last       event.Nanoseconds // time of the last boundary
	Cut        uint64            // number of boundaries processed
	numbered   uint64            // the highest number of a boundary so far
	Boundaries course.Stream     // the numbers of boundaries, which may arrive in the wrong order
}

// Host returns the machine of the session.
func (s *session) Host() model.Host {
	if s.Start == nil {
		return model.Host{}
	}
	h := s.Start.Host
	out := model.Host{Name: h.Name, Kernel: h.Kernel, CPUs: h.CPUs, Memory: int64(h.Memory), Tracer: h.Tracer}
	if s.Began != 0 {
		wall := int64(h.WallNow) + int64(s.Began-h.MonoNow)
		out.Started = time.Unix(0, wall).UTC().Format(time.RFC3339Nano)
	}
	return out
}

// Page returns the size of a page of the machine's memory.
func (s *session) Page() uint64 {
	if s.Start == nil {
		return uint64(event.UsualPage)
	}
	return uint64(s.Start.Host.Page())
}

// Since returns the time from the first boundary to at, in nanoseconds. 0 stands for the last boundary.
func (s *session) Since(at event.Nanoseconds) int64 {
	if at == 0 {
		at = s.Last
	}
	return int64(at - s.Began)
}

// Duration returns the length of a window in nanoseconds. An open window ends at the last boundary.
func (s *session) Duration(w *Window) int64 {
	if w.IsOpen {
		return int64(s.Last - w.Opened)
	}
	return int64(w.Closed - w.Opened)
}

// SetStart records the start event.
func (s *session) SetStart(e *event.Start) { s.Start = e }

// NextCut advances to the next cut.
func (s *session) NextCut() { s.Cut++ }

// RecordBoundary records that a boundary came.
func (s *session) RecordBoundary(b *event.Boundary) {
	s.Boundaries.Received(b.Number)
	s.numbered = max(s.numbered, b.Number)
	if s.Began == 0 {
		s.Began = b.Time
	}
	s.Last = max(s.Last, b.Time)
}

// SetFinish records a finish event, and reports whether it is the first.
func (s *session) SetFinish(f *event.Finish) (isFirst bool) {
	isFirst = s.Finish == nil
	s.Finish = f
	return isFirst
}

// Lost returns the number of missing boundaries; at least 1 if any is missing.
func (s *session) Lost() uint64 {
	if s.Boundaries.Complete(0, s.numbered) {
		return 0
	}
	return max(1, s.numbered-min(s.numbered, s.Boundaries.Count))
}

// IsCut reports whether the events stop before the session ended. Then no figure is exact: a session reports its losses
// only at its end.
func (s *session) IsCut() bool { return s.Finish != nil && s.Finish.Reason == event.FinishCut }
