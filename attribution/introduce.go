package attribution

import (
	"slices"

	"ipytracer/event"
)

// introduce learns about a process, or learns more.
func (t *Tracker) introduce(info event.ProcessInfo) {
	p := t.process(info.PID, info.Root)
	if p == nil && info.Python != "" && len(t.order) < maxProcesses+maxPythons { // it may run cells, which have room when nothing else has
		p = t.adopt(info.PID, info.Root)
	}
	if p == nil {
		return
	}
	if p.info = t.limits.bounded(info); info.IPython != "" {
		t.kernels.met(p)
	}
	if p.inputs < 0 {
		p.inputs = info.Inputs
		if !info.Late { // what has been stored by now was stored while its cells were watched: In begins with one empty entry
			p.inputs = min(p.inputs, 1)
		}
	}
	if info.Python != "" && p.alive && p.parent != 0 && p.session == nil && p.whole == nil && !p.adopted && t.audit == nil {
		p.whole = t.openWindow(p, t.now(p), kindLife, nil)
	}
}

// process is a process by its pid, nil if there is no room for one more.
func (t *Tracker) process(pid int32, root uint32) *process {
	p := t.processes[pid]
	if p == nil && t.limits.room(&t.limits.Processes, len(t.order) < maxProcesses) {
		p = t.add(pid, root)
	}
	return p
}

func (t *Tracker) add(pid int32, root uint32) *process {
	p := &process{info: event.ProcessInfo{PID: pid, Root: root, Inputs: -1}, index: len(t.order), root: root, inputs: -1}
	t.processes[pid] = p
	t.order = append(t.order, p)
	return p
}

// adopt takes in a child for which there was no room when it began: from whom and with what is not known, so of its life as a whole there is no window.
func (t *Tracker) adopt(pid int32, root uint32) *process {
	i := slices.IndexFunc(t.order, func(p *process) bool { return p.root == root && p.session != nil })
	if i < 0 {
		return nil
	}
	p, r := t.add(pid, root), t.root(root)
	p.adopted, p.began, p.line.began, p.parent = true, t.last, t.last, t.order[i].info.PID
	r.lives(p, t.cut, true)
	r.moved(p, t.cut)
	return p
}

func (t *Tracker) root(id uint32) *root {
	r := t.roots[id]
	if r == nil {
		r = &root{changes: map[uint64]map[int32]levels{}}
		t.roots[id] = r
	}
	return r
}
