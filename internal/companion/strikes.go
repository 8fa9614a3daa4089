package companion

import "sync"

// Bounds of the closes that notebooks can cause.
const (
	maxClosing   = 16   // lines that are closed at the same time, each on a thread
	maxClosingOf = 2    // lines of one process that are closed at the same time
	maxToClose   = 128  // lines that wait to be closed; at this number no new line is accepted
	maxStrikes   = 3    // misused lines after which a process gets no other
	maxStruck    = 1024 // processes whose misuses are known
)

// strikes counts, by process, how often lines were misused: the process sent descriptors or too many bytes, or it sent
// requests and did not read the answers.
type strikes struct {
	mu     sync.Mutex
	counts map[int]int // by pid
	// thrown counts, by pid, the lines that a process closed without reading the greeting.
	thrown map[int]int
}

// threwAway counts a line that a process closed unread. It returns true exactly once, when that has happened too often
// for an accident.
func (s *strikes) threwAway(pid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.thrown == nil || len(s.thrown) >= maxStruck {
		s.thrown = map[int]int{}
	}
	s.thrown[pid]++
	return s.thrown[pid] == maxStrikes
}

func (s *strikes) add(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil || len(s.counts) >= maxStruck {
		s.counts = map[int]int{}
	}
	s.counts[pid]++
}

// forget removes a process, because another one may get its pid.
func (s *strikes) forget(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.counts, pid)
	delete(s.thrown, pid)
}

// out reports whether a process has misused so many lines that it gets no other.
func (s *strikes) out(pid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[pid] >= maxStrikes
}

// Accepts reports whether a process may have a line: not if it has misused lines before, and not while too many lines
// wait to be closed. Any goroutine may call it.
func (h *Hub) Accepts(pid int) bool {
	return !h.strikes.out(pid) && h.closers.Waiting() < maxToClose
}
