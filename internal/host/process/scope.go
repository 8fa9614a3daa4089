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

// Scope is the set of processes that a [Helper] looks into: some roots, and their descendants. A descendant whose
// parent has ended is an orphan: its new parent is the first process of its pid namespace, or the user's systemd. An
// orphan counts as a root's descendant if it has the root's user and control groups, and is no older than the root.
//
// The helper does not look into a process that has rights which its root did not have in the beginning
// ([Rights.Covers]), such as a set-user-ID program. The zero Scope has every process. It is safe for concurrent use.
type Scope struct {
	Roots   []Identity
	Signals bool    // the helper sends signals to the roots on request
	First   bool    // the asking program may have its priority raised ([Helper.First])
	Owner   *uint32 // the roots must be this user's, with no further rights; nil: they may be anybody's

	fs    FS
	mu    sync.Mutex
	known map[Identity]int // the index of a process's root
	marks []mark           // by index of the root
}

// mark has the facts by which an orphan's root is recognized, and the rights of the root.
type mark struct {
	uid    uint32
	groups string
	since  uint64 // the start after boot, in units of 1/100 s
	rights Rights
	gone   bool // the root had ended before it could be examined
}

// maxScope is how many processes are remembered, and how many ancestors of a process are examined.
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

// ParseScope reads a scope from its text, and examines the roots.
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
		m.gone = err != nil // its orphans cannot be recognized
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

// mayLook fails as check does, and with [ErrNotPermitted] for a process with rights that its root did not have.
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
	case s.marks[root].gone: // its rights are not known
		return &Error{PID: pid, Kind: ErrNoProcess}
	}
	return s.marks[root].rights.MayLook(s.fs, pid)
}

// rootOf returns the index of the root that a process belongs to.
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
	if root = s.findRoot(st); root < 0 {
		return 0, &Error{PID: pid, Kind: ErrNotPermitted, Cause: errors.New("the session does not trace the process")}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxScope {
		clear(s.known)
	}
	s.known[id] = root
	return root, nil
}

// findRoot returns the index of the root that a process belongs to (-1 for none). It goes from parent to parent, until
// it comes to a root, or to an orphan.
func (s *Scope) findRoot(st Stat) (root int) {
	for range maxScope {
		id := Identity{st.PID, st.StartTicks}
		if i := slices.Index(s.Roots, id); i >= 0 {
			return i
		}
		parent, err := s.fs.Proc(st.ParentPID).Stat()
		if err != nil || parent.StartTicks > st.StartTicks { // a younger process has the parent's pid
			return -1
		}
		if s.adoptsOrphans(parent) {
			return s.rootOfOrphan(id)
		}
		st = parent
	}
	return -1
}

// adoptsOrphans reports whether a process becomes the parent of orphans. Subreapers also do, but Linux hides them.
func (s *Scope) adoptsOrphans(st Stat) bool {
	status, err := s.fs.Proc(st.PID).Status()
	if err != nil {
		return false
	}
	pids := status.NSPIDs
	firstOfNamespace := st.PID == 1 || len(pids) > 0 && pids[len(pids)-1] == 1
	return firstOfNamespace || st.Comm == "systemd"
}

// rootOfOrphan returns the index of the root to which an orphan belongs (-1 for none).
func (s *Scope) rootOfOrphan(id Identity) (root int) {
	m, err := s.mark(id)
	if err != nil {
		return -1
	}
	return slices.IndexFunc(s.marks, func(root mark) bool {
		return !root.gone && m.uid == root.uid && m.groups == root.groups && m.since >= root.since
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
