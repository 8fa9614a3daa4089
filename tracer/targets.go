package tracer

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// targets are the processes that a session is attached to: roots, and Python children that run cells.
type targets struct {
	fs      process.FS
	options *Options
	all     []*target
}

// find returns the target that has this pid and is not gone; nil if there is none.
func (l *targets) find(pid int) *target {
	for _, t := range l.all {
		if t.pid == pid && !t.gone {
			return t
		}
	}
	return nil
}

// haveRoot reports whether a root is not gone.
func (l *targets) haveRoot() bool {
	return slices.ContainsFunc(l.all, func(t *target) bool { return t.isRoot() && !t.gone })
}

// hold opens handles of running processes, without reading any of their state.
func (l *targets) hold(who []process.Identity) error {
	var gone error
	for _, id := range who {
		t := &target{pid: id.PID}
		var err error
		if id.StartTicks == 0 {
			t.handle, err = l.fs.Open(id.PID)
		} else {
			t.handle, err = l.fs.OpenIdentity(id)
		}
		if l.tolerates(err) {
			gone = err
		} else if err != nil {
			return err
		} else {
			l.all = append(l.all, t)
		}
	}
	if len(l.all) == 0 {
		return gone
	}
	return nil
}

// tolerates reports whether an error means that the target has ended and that the session goes on without it.
func (l *targets) tolerates(err error) bool {
	return l.options.Tolerant && (errors.Is(err, ledger.ErrNoProcess) || errors.Is(err, process.ErrNoProcess) ||
		errors.Is(err, process.ErrZombie) ||
		errors.Is(err, unix.ESRCH))
}

// drop removes and closes a target that is not to be traced after all.
func (l *targets) drop(t *target) {
	l.all = slices.DeleteFunc(l.all, func(other *target) bool { return other == t })
	_ = t.close()
}

// withoutDescendants returns the list without repetitions and without descendants of its other processes.
func (l *targets) withoutDescendants(who []process.Identity) (out []process.Identity, err error) {
	covered := map[int]bool{}
	for _, id := range who {
		all, err := l.fs.Descendants(id.PID)
		if err != nil {
			return nil, fmt.Errorf("descendants of %d: %w", id.PID, err)
		}
		for _, d := range all {
			covered[d.PID] = true
		}
	}
	for _, id := range who {
		if !covered[id.PID] && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// rootOf returns the pid of a tree's first process, or pid if it is not known.
func (l *targets) rootOf(root uint32, pid int32) int32 {
	for _, t := range l.all {
		if t.isRoot() && t.root == root {
			return int32(t.pid)
		}
	}
	return pid
}

// threads counts the targets' threads.
func (l *targets) threads() int {
	n := 0
	for _, t := range l.all {
		if st, err := l.fs.Proc(t.pid).Status(); err == nil {
			n += st.Threads
		}
	}
	return max(n, 1)
}

func (l *targets) allPlaces() (n int) {
	for _, t := range l.all {
		for _, i := range t.instruments {
			n += i.places()
		}
	}
	return n
}

// impatient reports whether a process is to be examined again soon.
func (l *targets) impatient() bool {
	for _, t := range l.all {
		if !t.gone && (t.python == nil && t.patience > 0 || t.python != nil && !t.python.complete()) {
			return true
		}
	}
	return false
}

// isEnding reports whether a target has ended that is still on the list.
func (l *targets) isEnding() bool {
	return slices.ContainsFunc(l.all, func(t *target) bool { return t.gone })
}
