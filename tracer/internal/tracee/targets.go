package tracee

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// List are the processes that a session is attached to: roots, and Python children that run cells.
type List struct {
	FS       process.FS
	Tolerant bool // targets that have ended are left out ([Options.Tolerant])
	All      []*Target
}

// Find returns the target that has this pid and is not gone; nil if there is none.
func (l *List) Find(pid int) *Target {
	for _, t := range l.All {
		if t.PID == pid && !t.Gone {
			return t
		}
	}
	return nil
}

// HaveRoot reports whether a root is not gone.
func (l *List) HaveRoot() bool {
	return slices.ContainsFunc(l.All, func(t *Target) bool { return t.IsRoot() && !t.Gone })
}

// Hold opens handles of running processes, without reading any of their state.
func (l *List) Hold(ids []process.Identity) error {
	started := map[*Target]process.Identity{}
	for _, id := range ids {
		t := &Target{PID: id.PID}
		l.All, started[t] = append(l.All, t), id
	}
	return l.Each(func(t *Target) (err error) {
		id, known := started[t]
		switch {
		case !known: // its handle is open
		case id.StartTicks == 0:
			t.Handle, err = l.FS.Open(id.PID)
		default:
			t.Handle, err = l.FS.OpenIdentity(id)
		}
		return err
	})
}

// Each calls do for each target on the list. If do fails with a tolerated error, Each drops the target. It fails with
// any other error, and if no target is left.
func (l *List) Each(do func(*Target) error) error {
	var gone error
	for _, t := range slices.Clone(l.All) { // the function may add their children
		err := do(t)
		if l.Tolerates(err) {
			l.Drop(t)
			gone = err
		} else if err != nil {
			return err
		}
	}
	if len(l.All) == 0 {
		return gone
	}
	return nil
}

// Tolerates reports whether an error means that the target has ended and that the session goes on without it.
func (l *List) Tolerates(err error) bool {
	return l.Tolerant && (errors.Is(err, ledger.ErrNoProcess) || errors.Is(err, process.ErrNoProcess) ||
		errors.Is(err, process.ErrZombie) || errors.Is(err, unix.ESRCH))
}

// Drop removes and closes a target that is not to be traced after all.
func (l *List) Drop(t *Target) {
	l.All = slices.DeleteFunc(l.All, func(other *Target) bool { return other == t })
	_ = t.Close()
}

// WithoutDescendants returns ids without repetitions and without descendants of other processes in ids.
func (l *List) WithoutDescendants(ids []process.Identity) (out []process.Identity, err error) {
	covered := map[int]bool{}
	for _, id := range ids {
		descendants, err := l.FS.Descendants(id.PID)
		if err != nil {
			return nil, fmt.Errorf("descendants of %d: %w", id.PID, err)
		}
		for _, d := range descendants {
			covered[d.PID] = true
		}
	}
	for _, id := range ids {
		if !covered[id.PID] && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// RootOf returns the pid of a tree's first process, or pid if it is not known.
func (l *List) RootOf(root uint32, pid int32) int32 {
	for _, t := range l.All {
		if t.IsRoot() && t.Root == root {
			return int32(t.PID)
		}
	}
	return pid
}

// Threads counts the targets' threads.
func (l *List) Threads() int {
	n := 0
	for _, t := range l.All {
		if st, err := l.FS.Proc(t.PID).Status(); err == nil {
			n += st.Threads
		}
	}
	return max(n, 1)
}

func (l *List) AllPlaces() (n int) {
	for _, t := range l.All {
		for _, i := range t.Instruments {
			n += i.Places()
		}
	}
	return n
}

// Impatient reports whether a process is to be examined again soon.
func (l *List) Impatient() bool {
	for _, t := range l.All {
		if !t.Gone && (t.Python == nil && t.Patience > 0 || t.Python != nil && !t.Python.Complete()) {
			return true
		}
	}
	return false
}

// IsEnding reports whether a target has ended that is still on the list.
func (l *List) IsEnding() bool {
	return slices.ContainsFunc(l.All, func(t *Target) bool { return t.Gone })
}

// FreeRoot returns the lowest number that no root has; ok is false if there is none.
func (l *List) FreeRoot() (root uint32, ok bool) {
	var taken [ledger.MaxRoots]bool
	for _, t := range l.All {
		taken[t.Root] = true
	}
	for root, isTaken := range taken {
		if !isTaken {
			return uint32(root), true
		}
	}
	return 0, false
}

// InTree returns how many targets belong to a root, which is one of them.
func (l *List) InTree(root uint32) (n int) {
	for _, t := range l.All {
		if t.Root == root {
			n++
		}
	}
	return n
}

// Renamed returns events for the targets whose notebook has another name than when it was last read: VS Code sets its
// variable only once a kernel runs.
func Renamed(fs process.FS, targets []*Target) (news []event.Event) {
	for _, t := range targets {
		if t.Gone || t.Python == nil || t.Python.Inputs == 0 || !t.Announced {
			continue
		}
		if notebook := NotebookOf(fs, t.PID, t.Python.Live); notebook != "" && notebook != t.Python.Notebook {
			t.Python.Notebook = notebook
			news = append(news, &event.Process{ProcessInfo: t.Info()})
		}
	}
	return news
}
