package tracer

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"ipytracer/event"
	"ipytracer/internal/host/limit"
	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/tracee"
)

// limits are the soft limits that a session sets.
type limits struct {
	fs       process.FS
	size     limit.Size // the size that was asked for
	report   *tracee.Certificate
	mayLimit func(pid int, owner uint32) error // see [Options]

	guards  map[limit.User]*limit.Guard
	chosen  []Limited
	started map[int32]process.Identity // running children of limited processes
	lifted  bool                       // to restore the limits
}

// Limited is a process that the session has limited.
type Limited struct {
	PID int
	limit.Choice
}

// maxStarted bounds the children that are remembered; the ledger has room for fewer.
const maxStarted = 4096

// start starts the guards that set limits, one for each user of the targets, if limits are asked for. After confinement
// nothing can be started.
func (l *limits) start(targets []*tracee.Target) error {
	if !l.size.Set() {
		return nil
	}
	if err := limit.Supported(); err != nil {
		return err
	}
	l.guards, l.started = map[limit.User]*limit.Guard{}, map[int32]process.Identity{}
	for _, t := range targets {
		if _, err := l.guard(t.PID); err != nil {
			return err
		}
		below, err := l.fs.Descendants(t.PID)
		if err != nil {
			return err
		}
		for _, id := range below {
			_, _ = l.guard(id.PID) // an error is reported when the child is to be limited
		}
	}
	return nil
}

// guard returns the guard that limits a process. It fails as [Options.MayLimit] does.
func (l *limits) guard(pid int) (*limit.Guard, error) {
	user, err := limit.UserOf(pid)
	if err != nil {
		return nil, err
	}
	if l.mayLimit != nil {
		if err := l.mayLimit(pid, user.UID); err != nil {
			return nil, err
		}
	}
	g := l.guards[user]
	if g == nil {
		if g, err = limit.StartGuard(user); err != nil {
			return nil, err
		}
		l.guards[user] = g
	}
	return g, nil
}

// limitAll limits the roots and their descendants, if that is asked for.
func (l *limits) limitAll(targets []*tracee.Target) error {
	if !l.size.Set() {
		return nil
	}
	descendants := map[*tracee.Target][]process.Identity{}
	processes := 0
	for _, t := range targets {
		below, err := l.fs.Descendants(t.PID)
		if err != nil {
			return err
		}
		descendants[t] = below
		processes += 1 + len(below)
	}
	for _, t := range targets {
		if err := l.limitRoot(t, descendants[t], processes); err != nil {
			return err
		}
	}
	return nil
}

// limitRoot limits one root and its children, all to the same size. An automatic limit divides the free memory by the
// number of processes.
func (l *limits) limitRoot(t *tracee.Target, below []process.Identity, processes int) error {
	choice := limit.Choice{Bytes: l.size.Bytes}
	if l.size.Auto {
		var err error
		if choice, err = limit.Choose(t.PID, processes); err != nil {
			return err
		}
	}
	if err := l.impose(t.Handle.Identity(), choice.Bytes); err != nil {
		return err
	}
	t.Limited = true
	l.chosen = append(l.chosen, Limited{t.PID, choice})
	for _, id := range below {
		if err := l.impose(id, choice.Bytes); err != nil && !errors.Is(err, process.ErrNoProcess) {
			l.report.Problem("child %d has no limit: %v", id.PID, err)
		}
	}
	return nil
}

// impose limits a process through the guard of its user.
func (l *limits) impose(id process.Identity, bytes int64) error {
	g, err := l.guard(id.PID)
	if err != nil {
		return err
	}
	return g.Impose(id, bytes)
}

// recordChild records a child of a limited process, which inherits the limit and may outlive its parent, until it ends.
func (l *limits) recordChild(b *event.Boundary) {
	switch {
	case l.guards == nil:
	case b.Kind == event.ProcessExit:
		delete(l.started, b.PID)
	case b.Kind == event.ProcessStart && len(l.started) < maxStarted:
		if id, err := l.fs.Identity(int(b.PID)); err == nil {
			l.started[b.PID] = id
		}
	}
}

// lift restores the earlier limits.
func (l *limits) lift() {
	if l.lifted {
		return
	}
	l.lifted = true
	others := slices.Collect(maps.Values(l.started))
	for user, g := range l.guards {
		failed, err := g.Restore(others)
		if err != nil {
			l.report.Problem("the limits of user %d's processes may still be set: %v", user.UID, err)
		}
		slices.Sort(failed)
		for _, pid := range slices.Compact(failed) {
			l.report.Problem("process %d still has the session's limit: 'sudo tracer limit %d off' clears it", pid, pid)
		}
	}
}

func (l *limits) close() (err error) {
	for _, g := range l.guards {
		if failed := g.Close(); failed != nil {
			err = fmt.Errorf("the guard of limits: %w", failed)
		}
	}
	l.guards = nil
	return err
}
