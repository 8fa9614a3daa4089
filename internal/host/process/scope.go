package process

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Scope is the set of processes that a [Helper] looks into: some roots and the processes that they have started,
// directly or not. When a process's parent ends, its parent becomes the first process of its pid namespace, or the
// user's systemd. Such an orphan counts as a root's if it is of the root's user, in the root's control groups, and no
// older than the root. A process with rights that its root had not in the beginning ([Rights.Covers]), such as after it
// executed a set-user-ID program, is not looked into. The zero value is every process. Safe for concurrent use.
type Scope struct {
	Roots   []Identity
	Signals bool    // the roots may be sent signals
	First   bool    // the program that looks may ask to run before others ([Helper.First])
	Owner   *uint32 // the roots are this user's, with no further rights; nil: whoever they are

	fs    FS
	mu    sync.Mutex
	known map[Identity]int // the number of its root
	marks []mark           // of the roots
}

// mark has the facts that a root and its orphans have in common.
type mark struct {
	uid    uint32
	groups string
	since  uint64 // ticks
	rights Rights
	gone   bool // it had ended
}

// maxScope bounds the processes that are remembered, and the ancestors of a process that are looked at.
const maxScope = 1 << 16

// allProcesses stands for a scope of every process.
const allProcesses = "all"

// String returns the scope as [ParseScope] reads it.
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

// ParseScope reads a scope. It looks at the scope's roots: all of them must be there.
func ParseScope(text string) (*Scope, error) {
	s := &Scope{known: map[Identity]int{}}
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
		m, err := s.mark(id)
		m.gone = err != nil // and may have left orphans that cannot be recognized
		s.marks = append(s.marks, m)
	}
	return s, nil
}

func (s *Scope) mark(id Identity) (m mark, err error) {
	status, err := s.fs.Proc(id.PID).Status()
	if err != nil {
		return m, err
	}
	groups, _, err := s.fs.Proc(id.PID).read("cgroup", maxCgroups)
	if err != nil {
		return m, err
	}
	rights, err := ReadRights(s.fs, id.PID)
	if err != nil {
		return m, err
	}
	return mark{uid: status.UID, groups: string(groups), since: id.StartTicks, rights: rights}, s.fs.Same(id)
}

// check fails with [ErrNotPermitted] for a process that is not in the scope, and with [ErrNoProcess] if there is none.
func (s *Scope) check(pid int) error {
	if len(s.Roots) == 0 {
		return nil
	}
	_, err := s.rootOf(pid)
	return err
}

// mayLook fails as check does. It also fails with [ErrNotPermitted] for a process that has other rights than its root
// had.
func (s *Scope) mayLook(pid int) error {
	if len(s.Roots) == 0 {
		return nil
	}
	root, err := s.rootOf(pid)
	switch {
	case err != nil:
		return err
	case s.Owner != nil:
		return RightsOf(*s.Owner).MayLook(s.fs, pid)
	case s.marks[root].gone: // when it was to be looked at
		return &Error{PID: pid, Kind: ErrNoProcess}
	}
	return s.marks[root].rights.MayLook(s.fs, pid)
}

// rootOf returns the number of the root that a process belongs to.
func (s *Scope) rootOf(pid int) (root int, err error) {
	st, err := s.fs.Proc(pid).Stat()
	if err != nil {
		return 0, err
	}
	id := Identity{st.PID, st.StartTicks}
	s.mu.Lock()
	root, known := s.known[id]
	s.mu.Unlock()
	if known {
		return root, nil
	}
	if root = s.isTheirs(st); root < 0 {
		return 0, &Error{PID: pid, Kind: ErrNotPermitted, Cause: errors.New("it is none of those that are traced")}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxScope {
		clear(s.known)
	}
	s.known[id] = root
	return root, nil
}

// isTheirs returns the root to which a process belongs; -1 for none. The process is the root, or was started by it, or
// an orphan of the root is among its ancestors.
func (s *Scope) isTheirs(st Stat) (root int) {
	for range maxScope {
		for i, root := range s.Roots {
			if root.PID == st.PID && root.StartTicks == st.StartTicks {
				return i
			}
		}
		parent, err := s.fs.Proc(st.ParentPID).Stat()
		if err != nil || parent.StartTicks > st.StartTicks { // the pid was handed on
			return -1
		}
		if s.reaps(parent) {
			return s.isOrphan(Identity{st.PID, st.StartTicks})
		}
		st = parent
	}
	return -1
}

// reaps reports whether a process is one that orphans go to. The kernel does not show which other programs have asked
// for orphans (PR_SET_CHILD_SUBREAPER).
func (s *Scope) reaps(st Stat) bool {
	status, err := s.fs.Proc(st.PID).Status()
	return err == nil && (len(status.NSPIDs) > 0 && status.NSPIDs[len(status.NSPIDs)-1] == 1 || st.PID == 1 ||
		st.Comm == "systemd")
}

// isOrphan returns the root that has the same mark as an orphaned process; -1 for none.
func (s *Scope) isOrphan(id Identity) (root int) {
	m, err := s.mark(id)
	if err != nil {
		return -1
	}
	return slices.IndexFunc(s.marks, func(of mark) bool {
		return !of.gone && m.uid == of.uid && m.groups == of.groups && m.since >= of.since
	})
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
