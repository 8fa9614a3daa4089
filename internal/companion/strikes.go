package companion

import "sync"

// Bounds of the closes that notebooks can cause.
const (
	maxClosing   = 16   // lines that are being closed at a time, each on a thread
	maxClosingOf = 2    // of these, of one process
	maxToClose   = 128  // lines that wait for that; no more are taken over then
	maxStrikes   = 3    // lines that a process has misused: it gets no other
	maxStruck    = 1024 // processes with known strikes
)

// strikes are how often processes have misused their lines: sent descriptors along or too much, or asked and not read.
type strikes struct {
	mu sync.Mutex
	of map[int]int // by pid
	// thrown is how many lines a process has closed in a row without having read the greeting, by pid.
	thrown map[int]int
}

// threwAway notes that a process has closed a line unread, and reports, once, when that has happened too often for an
// accident.
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
	if s.of == nil || len(s.of) >= maxStruck {
		s.of = map[int]int{}
	}
	s.of[pid]++
}

// forget forgets a process: its number can be another's from now on.
func (s *strikes) forget(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, pid)
	delete(s.thrown, pid)
}

// out reports whether a process gets no other line.
func (s *strikes) out(pid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[pid] >= maxStrikes
}

// Accepts reports whether a process may have a line: not if it has misused some, nor while too many wait to be closed.
// It is for any goroutine.
func (h *Hub) Accepts(pid int) bool {
	return !h.strikes.out(pid) && h.closers.Waiting() < maxToClose
}
