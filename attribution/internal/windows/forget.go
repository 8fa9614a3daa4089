package windows

import "slices"

// usualCrowd is the number of processes from which ended processes are dropped.
const usualCrowd = 64

// Forget drops the processes that ended before any open window began, unless a descendant lives. Session windows do not
// count.
func (ps *Processes) Forget() {
	if len(ps.Order) < ps.Crowd {
		return
	}
	needed := map[*Process]bool{}
	for _, p := range ps.Order {
		if !p.Ended || p.left > ps.Tree(p.Root).oldest(ps.session.Cut) {
			ps.need(p, needed)
		}
	}
	if len(needed) == len(ps.Order) {
		return
	}
	drop := func(p *Process) bool { return !needed[p] }
	for _, p := range ps.Order {
		if drop(p) {
			ps.Tree(p.Root).leave(p)
			if ps.ByPID[p.Info.PID] == p {
				delete(ps.ByPID, p.Info.PID)
			}
		}
	}
	ps.Order = slices.DeleteFunc(ps.Order, drop)
	for i, p := range ps.Order {
		p.Index = i
	}
	ps.Kernels.all, ps.Kernels.stale = slices.DeleteFunc(ps.Kernels.all, drop), true
	ps.limits.Known, ps.limits.Kept = nil, 0
}

// need marks a process and its ancestors.
func (ps *Processes) need(p *Process, needed map[*Process]bool) {
	for p != nil && !needed[p] {
		needed[p] = true
		p = ps.ByPID[p.Parent]
	}
}

// oldest returns the cut at which the oldest open window of a tree opened, sessions apart; otherwise if none is open.
func (r *Tree) oldest(otherwise uint64) uint64 {
	for _, w := range r.Open {
		if w.IsOpen && w.Kind != KindSession {
			otherwise = min(otherwise, w.Since)
		}
	}
	return otherwise
}
