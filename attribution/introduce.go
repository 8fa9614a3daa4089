package attribution

import (
	"slices"

	"ipytracer/event"
)

// introduce learns about a process, or learns more.
func (t *Tracker) introduce(info event.ProcessInfo) {
	p := t.processes.process(info.PID, info.Root)
	// it may run cells, which have room when nothing else has
	if p == nil && info.Python != "" && len(t.processes.order) < maxProcesses+maxPythons {
		p = t.processes.adopt(info.PID, info.Root)
	}
	if p == nil {
		return
	}
	if p.info = t.limits.bounded(info); info.IPython != "" {
		t.processes.kernels.met(p)
	}
	if p.inputs < 0 {
		p.inputs = info.Inputs
		// what has been stored by now was stored while its cells were watched: In begins with one empty entry
		if !info.Late {
			p.inputs = min(p.inputs, 1)
		}
	}
	if info.Python != "" && p.alive && p.parent != 0 && p.session == nil && p.whole == nil && !p.adopted &&
		t.audit == nil {
		p.whole = t.openWindow(p, t.processes.now(p), kindLife, nil)
	}
}

// process is a process by its pid, nil if there is no room for one more.
func (ps *processes) process(pid int32, root uint32) *process {
	p := ps.byPID[pid]
	if p == nil && ps.limits.room(&ps.limits.Processes, len(ps.order) < maxProcesses) {
		p = ps.add(pid, root)
	}
	return p
}

func (ps *processes) add(pid int32, root uint32) *process {
	p := &process{info: event.ProcessInfo{PID: pid, Root: root, Inputs: -1}, index: len(ps.order), root: root,
		inputs: -1}
	ps.byPID[pid] = p
	ps.order = append(ps.order, p)
	return p
}

// adopt takes in a child for which there was no room when it began: from whom and with what is not known, so of its
// life as a whole there is no window.
func (ps *processes) adopt(pid int32, root uint32) *process {
	i := slices.IndexFunc(ps.order, func(p *process) bool { return p.root == root && p.session != nil })
	if i < 0 {
		return nil
	}
	p, r := ps.add(pid, root), ps.root(root)
	p.adopted, p.began, p.line.began, p.parent = true, ps.session.last, ps.session.last, ps.order[i].info.PID
	r.lives(p, ps.session.cut, true)
	r.moved(p, ps.session.cut)
	return p
}

func (ps *processes) root(id uint32) *root {
	r := ps.roots[id]
	if r == nil {
		r = &root{changes: map[uint64]map[int32]levels{}}
		ps.roots[id] = r
	}
	return r
}
