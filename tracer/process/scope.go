package process

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Scope is which processes a [Helper] looks into: some roots and what they have started, directly or not. What was started by one that has ended belongs to
// the first process of its pid namespace, or to systemd where that is a user's: it is taken for theirs where it is of a root's user, in a
// root's control groups, and no older than the root. The zero value is every process. Safe for concurrent use.
type Scope struct {
	Roots   []Identity
	Signals bool // the roots may be sent signals

	fs    FS
	mu    sync.Mutex
	known map[Identity]bool
	marks []mark // of the roots
}

// mark is what a root and its orphans have in common.
type mark struct {
	uid    uint32
	groups string
	since  uint64 // ticks
}

// maxScope bounds the processes that are remembered, and how many ancestors of one are looked at.
const maxScope = 1 << 16

// allProcesses stands for a scope of every process.
const allProcesses = "all"

// String is the scope as [ParseScope] reads it.
func (s *Scope) String() string {
	if len(s.Roots) == 0 {
		return allProcesses
	}
	var parts []string
	for _, id := range s.Roots {
		parts = append(parts, fmt.Sprintf("%d:%d", id.PID, id.StartTicks))
	}
	return strings.Join(parts, ",")
}

// ParseScope reads a scope, and looks at its roots, which must be there.
func ParseScope(text string) (*Scope, error) {
	s := &Scope{known: map[Identity]bool{}}
	if text == allProcesses {
		return s, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		pid, ticks, _ := strings.Cut(part, ":")
		var id Identity
		var err error
		if id.PID, err = strconv.Atoi(pid); err == nil {
			id.StartTicks, err = strconv.ParseUint(ticks, 10, 64)
		}
		if err != nil || id.PID <= 0 {
			return nil, fmt.Errorf("%q is no process", part)
		}
		s.Roots = append(s.Roots, id)
		if m, err := s.mark(id); err == nil { // else it has ended, and may have left orphans that nobody can tell
			s.marks = append(s.marks, m)
		}
	}
	return s, nil
}

func (s *Scope) mark(id Identity) (m mark, err error) {
	status, err := s.fs.Status(id.PID)
	if err != nil {
		return m, err
	}
	groups, _, err := s.fs.read(id.PID, "cgroup", maxCgroups)
	if err != nil {
		return m, err
	}
	return mark{status.UID, string(groups), id.StartTicks}, s.fs.Same(id)
}

// check fails with [ErrNotPermitted] for a process that is not in the scope, and with [ErrNoProcess] if there is none.
func (s *Scope) check(pid int) error {
	if len(s.Roots) == 0 {
		return nil
	}
	st, err := s.fs.Stat(pid)
	if err != nil {
		return err
	}
	id := Identity{st.PID, st.StartTicks}
	s.mu.Lock()
	known := s.known[id]
	s.mu.Unlock()
	if known {
		return nil
	}
	if !s.isTheirs(st) {
		return &Error{PID: pid, Kind: ErrNotPermitted, Cause: errors.New("it is none of those that are traced")}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxScope {
		clear(s.known)
	}
	s.known[id] = true
	return nil
}

// isTheirs says whether a process is a root, was started by one that is there, or is below an orphan.
func (s *Scope) isTheirs(st Stat) bool {
	for range maxScope {
		for _, root := range s.Roots {
			if root.PID == st.PID && root.StartTicks == st.StartTicks {
				return true
			}
		}
		parent, err := s.fs.Stat(st.ParentPID)
		if err != nil || parent.StartTicks > st.StartTicks { // the pid was handed on
			return false
		}
		if s.reaps(parent) {
			return s.isOrphan(Identity{st.PID, st.StartTicks})
		}
		st = parent
	}
	return false
}

// reaps says whether a process is one that orphans go to. Of other programs that have asked for them (PR_SET_CHILD_SUBREAPER) the kernel does not tell.
func (s *Scope) reaps(st Stat) bool {
	status, err := s.fs.Status(st.PID)
	return err == nil && (len(status.NSPIDs) > 0 && status.NSPIDs[len(status.NSPIDs)-1] == 1 || st.PID == 1 || st.Comm == "systemd")
}

// isOrphan says whether a process has what an orphan has in common with a root.
func (s *Scope) isOrphan(id Identity) bool {
	m, err := s.mark(id)
	if err != nil {
		return false
	}
	for _, root := range s.marks {
		if m.uid == root.uid && m.groups == root.groups && m.since >= root.since {
			return true
		}
	}
	return false
}

// signal sends a signal to a root.
func (s *Scope) signal(pid int, signal unix.Signal) error {
	for _, root := range s.Roots {
		if root.PID != pid {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := s.fs.Same(root); err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, signal, nil, 0)
	}
	return &Error{PID: pid, Kind: ErrNotPermitted}
}
