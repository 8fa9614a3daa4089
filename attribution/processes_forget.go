package attribution

import "slices"

// usualCrowd is the number of processes from which ended ones are dropped.
const usualCrowd = 64

// forget drops the processes that ended before any open window began, sessions apart, unless a process below them
// lives. Texts that only they had go with them.
func (ps *processes) forget() {
	if len(ps.order) < ps.crowd {
		return
	}
	needed := map[*process]bool{}
	for _, p := range ps.order {
		if !p.ended || p.left > ps.root(p.root).oldest(ps.session.cut) {
			ps.need(p, needed)
		}
	}
	if len(needed) == len(ps.order) {
		return
	}
	drop := func(p *process) bool { return !needed[p] }
	for _, p := range ps.order {
		if drop(p) {
			ps.root(p.root).leave(p)
			if ps.byPID[p.info.PID] == p {
				delete(ps.byPID, p.info.PID)
			}
		}
	}
	ps.order = slices.DeleteFunc(ps.order, drop)
	for i, p := range ps.order {
		p.index = i
	}
	ps.kernels.all, ps.kernels.stale = slices.DeleteFunc(ps.kernels.all, drop), true
	ps.limits.known, ps.limits.kept = nil, 0
}

// need marks a process and those above it.
func (ps *processes) need(p *process, needed map[*process]bool) {
	for p != nil && !needed[p] {
		needed[p] = true
		p = ps.byPID[p.parent]
	}
}

// oldest returns the cut since which any window of a tree has been open, sessions apart; otherwise none is.
func (r *root) oldest(otherwise uint64) uint64 {
	for _, w := range r.open {
		if w.isOpen && w.kind != kindSession {
			otherwise = min(otherwise, w.since)
		}
	}
	return otherwise
}
