package process

import (
	"cmp"
	"errors"
	"slices"
)

// Stats returns the stat of every process that can be seen, by ascending pid. Processes that end meanwhile are
// left out. It fails only when the proc file system itself cannot be read.
func (fs FS) Stats() ([]Stat, error) {
	pids, err := fs.PIDs()
	if err != nil {
		return nil, err
	}
	all := make([]Stat, 0, len(pids))
	for _, pid := range pids {
		st, err := fs.Proc(pid).Stat()
		switch {
		case err == nil:
			all = append(all, st)
		case errors.Is(err, ErrNoProcess), errors.Is(err, ErrNotPermitted), errors.Is(err, ErrMalformed):
		default:
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b Stat) int { return cmp.Compare(a.PID, b.PID) })
	return all, nil
}

// Children returns the processes with the parent pid, zombies included, by ascending pid; none when there is no such
// process.
func (fs FS) Children(pid int) ([]Identity, error) {
	all, err := fs.Stats()
	if err != nil {
		return nil, err
	}
	return offspring(all, pid, false), nil
}

// Descendants returns the children of pid, their children and so on, zombies included, by ascending pid. A child with a
// parent that has ended belongs to another process (init, or a subreaper) and is not found. The picture is not taken at
// one instant: processes that are born during the reading can be missing.
func (fs FS) Descendants(pid int) ([]Identity, error) {
	all, err := fs.Stats()
	if err != nil {
		return nil, err
	}
	return offspring(all, pid, true), nil
}

// offspring collects the children, or all descendants, of root. A child never starts before its parent. Where one seems
// to, the parent's pid was handed on during the reading.
func offspring(all []Stat, root int, deep bool) []Identity {
	byPID := make(map[int]Stat, len(all))
	children := make(map[int][]Stat, len(all))
	for _, st := range all {
		byPID[st.PID] = st
		children[st.ParentPID] = append(children[st.ParentPID], st)
	}
	parent, ok := byPID[root]
	if !ok {
		return nil
	}
	seen := map[int]bool{root: true}
	var found []Identity
	for queue := []Stat{parent}; len(queue) > 0; queue = queue[1:] {
		for _, child := range children[queue[0].PID] {
			if seen[child.PID] || child.StartTicks < queue[0].StartTicks {
				continue
			}
			seen[child.PID] = true
			found = append(found, Identity{PID: child.PID, StartTicks: child.StartTicks})
			if deep {
				queue = append(queue, child)
			}
		}
	}
	slices.SortFunc(found, func(a, b Identity) int { return cmp.Compare(a.PID, b.PID) })
	return found
}
